import { QueryObserver, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { statusQuery } from '../../api/queries';
import type { Status } from '../../api/types';
import { useThrottled } from '../../ui/useThrottled';
import type { HeaderState } from '../grid/headerParts';
import { ColumnMeter } from '../runs/columnProgress';
import type { Table } from '../state/useTable';
import { useColumnCosts } from './useColumnCosts';

interface Shown {
  status: Status;
  shares: ReadonlyMap<string, number>;
}

/** What the headers tell: sorting, counts, cost so far, and progress while a column runs. */
export function useHeaderStates(table: Table): ReadonlyMap<string, HeaderState> {
  const { project, shownColumns, views } = table;
  const costs = useColumnCosts(table);
  const queryClient = useQueryClient();
  const meter = useRef(new ColumnMeter());
  const [shown, setShown] = useState<Shown>();
  // Counts change many times a second in a run; twice a second is enough to read them.
  const show = useThrottled<Shown>(setShown, (next, last) => next.status.processing !== last?.status.processing);
  useEffect(() => {
    const look = (status: Status | undefined) => status && show({ status, shares: meter.current.read(status) });
    // Not `useQuery`: the grid would be rendered at every event, and its table for screen readers never be rebuilt.
    const observer = new QueryObserver(queryClient, statusQuery(project.id));
    look(observer.getCurrentResult().data);
    return observer.subscribe(({ data }) => void look(data));
  }, [queryClient, project.id, show]);
  const { sorting } = views.state;
  return useMemo(
    () =>
      new Map(
        shownColumns.map(({ id }): [string, HeaderState] => {
          const counts = shown?.status.columns[id];
          return [
            id,
            {
              sort: sorting.find(({ columnId }) => columnId === id)?.direction,
              counts: counts && { done: counts.complete, failed: counts.error, stale: counts.stale },
              progress: shown?.shares.get(id),
              cost: costs.get(id),
            },
          ];
        }),
      ),
    [shownColumns, sorting, shown, costs],
  );
}
