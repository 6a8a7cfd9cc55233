import type { ProjectItem } from '../api/types';

/** What this browser remembers of projects: those that are starred, and those that were opened, the latest first. */
export interface ProjectMarks {
  starred: readonly string[];
  opened: readonly string[];
}

/** How many opened projects are remembered. */
const OPENED_MAX = 50;

/** Starred projects first, then those opened lately, then the others as they come. */
export function inOrder(projects: readonly ProjectItem[], { starred, opened }: ProjectMarks): ProjectItem[] {
  const place = ({ id }: ProjectItem) => (opened.includes(id) ? opened.indexOf(id) : OPENED_MAX);
  const isStarred = ({ id }: ProjectItem) => starred.includes(id);
  return [...projects].sort((a, b) => Number(isStarred(b)) - Number(isStarred(a)) || place(a) - place(b));
}

export function withOpened(opened: readonly string[], projectId: string): string[] {
  return [projectId, ...opened.filter((id) => id !== projectId)].slice(0, OPENED_MAX);
}

export function withStar(starred: readonly string[], projectId: string): string[] {
  return starred.includes(projectId) ? starred.filter((id) => id !== projectId) : [...starred, projectId];
}
