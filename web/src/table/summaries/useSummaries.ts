import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { client, data } from '../../api/client';
import type { ColumnSummary } from '../../api/types';
import { queryParams, type RowQuery } from '../rows/rowQuery';
import type { Table } from '../state/useTable';
import { summaryText } from './summaryText';

/** Columns in one request, within the service's limit. */
const COLUMNS_MAX = 20;
/** Many changes cause one request. */
const REFRESH_MILLISECONDS = 1_000;

interface Summaries {
  rowCount: number;
  columns: ReadonlyMap<string, ColumnSummary>;
}

/** The figures of the columns that have a summary, by column id. They follow the filters, the search and every change. */
export function useSummaries(table: Table): ReadonlyMap<string, string> {
  const { project, store, shownColumns, summaries, query } = table;
  const chosen = shownColumns.filter(({ id }) => summaries[id] !== undefined);
  const ids = chosen.map(({ id }) => id);
  const rows: RowQuery = { ...query, sorting: [] };
  const queryClient = useQueryClient();
  const { data: figures } = useQuery({
    queryKey: ['summary', project.id, ids, rows],
    queryFn: ({ signal }) => fetchSummaries(project.id, ids, rows, signal),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });

  const isShown = ids.length > 0;
  useEffect(() => {
    if (!isShown) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = store.subscribeToData(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void queryClient.invalidateQueries({ queryKey: ['summary', project.id] });
      }, REFRESH_MILLISECONDS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [isShown, store, project.id, queryClient]);

  return new Map(
    chosen.map(({ id, format }) => {
      const kind = summaries[id];
      const summary = figures?.columns.get(id);
      return [id, kind && summary && figures ? summaryText(kind, summary, figures.rowCount, format) : '…'];
    }),
  );
}

async function fetchSummaries(projectId: string, ids: readonly string[], rows: RowQuery, signal: AbortSignal): Promise<Summaries> {
  const parts: (readonly string[])[] = [];
  for (let first = 0; first < ids.length; first += COLUMNS_MAX) parts.push(ids.slice(first, first + COLUMNS_MAX));
  const answers = await Promise.all(
    parts.map((part) => {
      const { filters, search } = queryParams(rows);
      const params = { columnIds: part.join(','), ...(filters && { filters }), ...(search && { search }) };
      return data(client.GET('/v4/projects/{projectId}/summary', { params: { path: { projectId }, query: params }, signal }));
    }),
  );
  return {
    rowCount: answers[0]?.rowCount ?? 0,
    columns: new Map(answers.flatMap(({ columns }) => columns.map((summary) => [summary.columnId, summary] as const))),
  };
}
