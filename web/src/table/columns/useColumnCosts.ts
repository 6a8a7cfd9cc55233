import { QueryObserver, queryOptions, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { readSpendingUsage } from '../../api/operations';
import { statusQuery } from '../../api/queries';
import { isProcessed } from '../../api/types';
import type { HeaderState } from '../grid/headerParts';
import type { Table } from '../state/useTable';

type Cost = NonNullable<HeaderState['cost']>;

/** The service keeps what was spent for 400 days. */
const DAYS = 399;
const DAY_MILLISECONDS = 86_400_000;
/** How often costs are read again while a run goes on. */
const PAUSE_MILLISECONDS = 5_000;

/** What each column of a project has cost so far. */
export const columnCostsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['spendingUsage', 'column', projectId],
    queryFn: () => {
      const from = new Date(Date.now() - DAYS * DAY_MILLISECONDS).toISOString().slice(0, 10);
      return readSpendingUsage('column', { projectId, from });
    },
    staleTime: PAUSE_MILLISECONDS,
  });

/** Costs by column; read again while a run goes on, and when it ends. */
export function useColumnCosts({ project, columns }: Table): ReadonlyMap<string, Cost> {
  const queryClient = useQueryClient();
  const [costs, setCosts] = useState<ReadonlyMap<string, Cost>>(new Map());
  const canCost = columns.some(isProcessed);
  useEffect(() => {
    if (!canCost) return;
    const query = columnCostsQuery(project.id);
    const read = () => void queryClient.invalidateQueries({ queryKey: query.queryKey });
    const show = (usage: Awaited<ReturnType<typeof readSpendingUsage>> | undefined) => {
      const lines = usage?.lines.filter(({ usd, credits }) => (usd ?? 0) + (credits ?? 0) > 0);
      if (lines) setCosts(new Map(lines.map(({ columnId = '', usd, credits }) => [columnId, { usd, credits }])));
    };
    const observer = new QueryObserver(queryClient, query);
    show(observer.getCurrentResult().data);
    const spending = observer.subscribe(({ data }) => show(data));
    let isRunning = false;
    let timer: ReturnType<typeof setInterval> | undefined;
    // Not `useQuery`: the status changes many times a second in a run, and the grid would be rendered each time.
    const running = new QueryObserver(queryClient, statusQuery(project.id)).subscribe(({ data }) => {
      if (!data || data.processing === isRunning) return;
      isRunning = data.processing;
      clearInterval(timer);
      timer = isRunning ? setInterval(read, PAUSE_MILLISECONDS) : undefined;
      if (!isRunning) read();
    });
    return () => {
      clearInterval(timer);
      spending();
      running();
    };
  }, [queryClient, project.id, canCost]);
  return costs;
}
