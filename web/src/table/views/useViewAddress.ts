import { useEffect } from 'react';
import { useSearch } from 'wouter';
import { navigate } from 'wouter/use-browser-location';
import { absoluteUrl, prefix } from '../../api/base';
import { useLocalStorage } from '../../ui/useLocalStorage';

function pathOf(projectId: string, viewId: string | undefined): string {
  return `/projects/${projectId}${viewId ? `?view=${viewId}` : ''}`;
}

/** The address of a view, for people to pass on. */
export function viewUrl(projectId: string, viewId: string | undefined): string {
  return absoluteUrl(pathOf(projectId, viewId));
}

/**
 * Which view is open, by the page's address, so that it can be reloaded, gone back to and passed on. Who comes without
 * one gets the view they left.
 */
export function useViewAddress(projectId: string): [string | undefined, (viewId: string | undefined, isInstead?: boolean) => void] {
  const viewId = new URLSearchParams(useSearch()).get('view') ?? undefined;
  const [left, setLeft] = useLocalStorage<string | null>(`view:${projectId}`, null);

  useEffect(() => {
    if (!viewId && left) navigate(prefix + pathOf(projectId, left), { replace: true });
    // Only where one comes in: later, no view means all rows.
  }, [projectId]);
  useEffect(() => {
    if (viewId) setLeft(viewId);
  }, [viewId, setLeft]);

  const open = (next: string | undefined, isInstead = false) => {
    setLeft(next ?? null);
    // Not a page of its own, so nothing that is typed on this one is lost.
    if (next !== viewId) navigate(prefix + pathOf(projectId, next), { replace: isInstead });
  };
  return [viewId, open];
}
