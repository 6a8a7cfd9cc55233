import { useEffect, useRef } from 'react';
import type { NavigationState } from '../shell/navigationState';
import type { Table } from './state/useTable';

/** A sample that was just made runs as soon as its events are heard, so that people see it happen. Once: not when the page is reloaded. */
export function useRunOnArrival(table: Table | undefined): void {
  const hasRun = useRef(false);
  const isReady = table?.isConnected === true && table.total !== undefined;
  useEffect(() => {
    const arrival = window.history.state as NavigationState | null;
    if (!isReady || !arrival?.runs || hasRun.current) return;
    hasRun.current = true;
    window.history.replaceState(null, '');
    void table?.runs.run({});
  }, [isReady, table]);
}
