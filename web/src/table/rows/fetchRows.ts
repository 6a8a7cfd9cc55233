import { client, data } from '../../api/client';
import type { Row } from '../../api/types';
import { queryParams, type RowPage, type RowQuery } from './rowQuery';

/** Fetches a page of rows, counted from 0. */
export async function fetchPage(
  projectId: string,
  query: RowQuery,
  page: number,
  pageSize: number,
  signal: AbortSignal,
): Promise<RowPage> {
  const answer = await data(
    client.GET('/v4/projects/{projectId}/rows', {
      params: { path: { projectId }, query: { page: page + 1, pageSize, withState: true, ...queryParams(query) } },
      signal,
    }),
  );
  return { rows: answer.rows as Row[], total: answer.pagination.totalRows ?? undefined };
}

/** Fetches the ids of all rows of a list. Rows deleted meanwhile do not shift the others. */
export async function fetchAllIds(projectId: string, query: RowQuery): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const answer = await data(
      client.GET('/v4/projects/{projectId}/rows', {
        params: {
          path: { projectId },
          query: { pageSize: 1000, columnIds: '_trigger', includeTotal: false, ...queryParams(query), ...(cursor && { cursor }) },
        },
      }),
    );
    ids.push(...answer.rows.map((row) => row.id));
    cursor = answer.pagination.nextCursor;
  }
  return ids;
}

/** Fetches the ids of the rows from `first` to before `end`, in large pages. */
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
