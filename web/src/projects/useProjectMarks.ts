import { useEffect } from 'react';
import { useLocalStorage } from '../ui/useLocalStorage';
import { type ProjectMarks, withOpened, withStar } from './projectOrder';

/** Starred and lately opened projects, as this browser remembers them. */
export function useProjectMarks(): ProjectMarks & { star: (projectId: string) => void } {
  const [starred, setStarred] = useLocalStorage<string[]>('starred', []);
  const [opened] = useLocalStorage<string[]>('opened', []);
  return { starred, opened, star: (projectId) => setStarred(withStar(starred, projectId)) };
}

/** Remembers that a project was opened. */
export function useNoteOpened(projectId: string): void {
  const [opened, setOpened] = useLocalStorage<string[]>('opened', []);
  useEffect(() => setOpened(withOpened(opened, projectId)), [projectId]);
}
