import { useEffect, useRef } from 'react';
import type { NavigationState } from '../shell/navigationState';
import type { Table } from './state/useTable';

/** Runs a new sample project once its event stream is connected. Only once, not after a reload. */
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
