import { client, data } from '../../api/client';
import type { FilterNode, Row, Sorting } from '../../api/types';

/** Which rows, and in which order. */
export interface RowQuery {
  filters: FilterNode[];
  sorting: Sorting;
  search: string;
}

export const EVERY_ROW: RowQuery = { filters: [], sorting: [], search: '' };

/** All rows in order of creation: places are known without asking. */
export function isPlain(query: RowQuery): boolean {
  return query.filters.length === 0 && query.sorting.length === 0 && query.search === '';
}

export function isFiltered(query: RowQuery): boolean {
  return query.filters.length > 0 || query.search !== '';
}

/** A query as the service's parameters. */
export function queryParams(query: RowQuery) {
  return {
    ...(query.filters.length > 0 && { filters: JSON.stringify(query.filters) }),
    ...(query.sorting.length > 0 && { sorting: JSON.stringify(query.sorting) }),
    ...(query.search && { search: query.search }),
  };
}

export interface RowPage {
  rows: Row[];
  total: number | undefined;
}

export async function fetchPage(
  projectId: string,
  query: RowQuery,
  page: number,
  pageSize: number,
  signal: AbortSignal,
): Promise<RowPage> {
  const answer = await data(
    client.GET('/v4/projects/{projectId}/rows', {
      params: { path: { projectId }, query: { page: page + 1, pageSize, withStatus: true, ...queryParams(query) } },
      signal,
    }),
  );
  return { rows: answer.rows as Row[], total: answer.pagination.totalRows };
}

/** The ids of the rows from `first` to before `end`, read in large steps. */
export async function fetchIds(projectId: string, query: RowQuery, first: number, end: number): Promise<string[]> {
  const pageSize = 1000;
  const ids: string[] = [];
  for (let page = Math.floor(first / pageSize); page * pageSize < end; page++) {
    const answer = await data(
      client.GET('/v4/projects/{projectId}/rows', {
        params: {
          path: { projectId },
          query: { page: page + 1, pageSize, columnIds: '_trigger', includeTotal: false, ...queryParams(query) },
        },
      }),
    );
    answer.rows.forEach((row, offset) => {
      const index = page * pageSize + offset;
      if (index >= first && index < end) ids.push(row.id);
    });
    if (answer.rows.length < pageSize) break;
  }
  return ids;
}
