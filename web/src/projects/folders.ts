import type { ProjectItem } from '../api/types';

export interface Folder {
  name: string;
  count: number;
}

/** The folders that projects are in, by name. */
export function foldersOf(projects: readonly Pick<ProjectItem, 'folderId'>[]): Folder[] {
  const counts = new Map<string, number>();
  for (const { folderId } of projects) if (folderId) counts.set(folderId, (counts.get(folderId) ?? 0) + 1);
  return [...counts].map(([name, count]) => ({ name, count })).sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
}

/** Whether a project is shown: in the open folder, or found by its title or folder in any of them. */
export function isShown({ title, folderId }: Pick<ProjectItem, 'title' | 'folderId'>, folder: string, search: string): boolean {
  if (search) return `${title}\n${folderId ?? ''}`.toLowerCase().includes(search);
  return folder === '' || folderId === folder;
}
