import { useEffect } from 'react';
import { useSearch } from 'wouter';
import { navigate } from 'wouter/use-browser-location';
import { absoluteUrl, prefix } from '../../api/base';
import { useLocalStorage } from '../../ui/useLocalStorage';
import { readAddress } from './tableAddress';

function pathOf(projectId: string, viewId: string | undefined): string {
  return `/projects/${projectId}${viewId ? `?view=${viewId}` : ''}`;
}

/** The URL of a view, for sharing. */
export function viewUrl(projectId: string, viewId: string | undefined): string {
  return absoluteUrl(pathOf(projectId, viewId));
}

/**
 * Keeps the open view in the page's URL, so that reload, back and sharing work. A URL without a view opens the last one
 * used.
 */
export function useViewAddress(projectId: string): [string | undefined, (viewId: string | undefined, isInstead?: boolean) => void] {
  const viewId = new URLSearchParams(useSearch()).get('view') ?? undefined;
  const [left, setLeft] = useLocalStorage<string | null>(`view:${projectId}`, null);

  useEffect(() => {
    // Filters without a view are those of all rows.
    const isPlain = Object.keys(readAddress(window.location.search)).length === 0;
    if (!viewId && left && isPlain) navigate(prefix + pathOf(projectId, left), { replace: true });
    // Only on arrival: later, no view means all rows.
  }, [projectId]);
  useEffect(() => {
    if (viewId) setLeft(viewId);
  }, [viewId, setLeft]);

  const open = (next: string | undefined, isInstead = false) => {
    setLeft(next ?? null);
    // The page stays the same, so unsaved text is not lost and needs no question.
    if (next !== viewId) navigate(prefix + pathOf(projectId, next), { replace: isInstead });
  };
  return [viewId, open];
}
