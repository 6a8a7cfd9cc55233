import { client, data } from '../../api/client';
import { ApiError } from '../../api/error';
import { restore } from '../../api/trash';
import type { Json, Row } from '../../api/types';
import { notify } from '../../ui/notify';
import { leftoverText } from '../model/misspelt';
import { inBatches } from './batches';
import { fetchPage } from './fetchRows';
import { readRow } from './readRow';
import { EVERY_ROW } from './rowQuery';

export type RowBody = Record<string, Json>;
export type OnSent = (sent: number) => void;

/** The API calls an editor needs. */
export interface RowApi {
  writeCells: (cells: readonly { rowId: string; columnId: string; value: Json }[], onSent?: OnSent) => Promise<void>;
  /** Adds rows. `ids` gets the ids of saved rows, even after a failure. `name` gives the idempotency key of each request. */
  insertRows: (bodies: readonly RowBody[], ids: string[], onSent?: OnSent, name?: (sent: number) => string) => Promise<void>;
  deleteRows: (rowIds: readonly string[]) => Promise<number>;
  /** Restores deleted rows. Returns the ids of those that stay in the trash, because their guest has another row. */
  restoreRows: (rowIds: readonly string[]) => Promise<{ restored: number; kept: string[] }>;
  /** Rows as they are now, without those that are deleted or beyond the limit of the scan. */
  readRows: (rowIds: readonly string[]) => Promise<Map<string, Row>>;
}

/** Rows to delete in one request, within the service's limit. */
const DELETED_MAX = 50_000;
const SINGLE_READS_MAX = 60;
const PAGE_SIZE = 1_000;
const PAGES_MAX = 100;

export function rowApi(projectId: string): RowApi {
  const params = { path: { projectId } };
  return {
    writeCells: async (cells, onSent) => {
      let sent = 0;
      for (const batch of inBatches(cells, ({ value }) => value)) {
        await data(client.PATCH('/v4/projects/{projectId}/cells', { params, body: { cells: batch } }));
        onSent?.((sent += batch.length));
      }
    },
    insertRows: async (bodies, ids, onSent, name) => {
      for (const rows of inBatches(bodies, (body) => body)) {
        const header = name && { 'Idempotency-Key': name(ids.length) };
        const answer = await data(client.POST('/v4/projects/{projectId}/rows', { params: { ...params, header }, body: { rows } }));
        ids.push(...answer.rows);
        // A column that the page still shows may have been deleted.
        const leftover = leftoverText(answer);
        if (leftover) notify(leftover, 'Some values name no column');
        onSent?.(ids.length);
      }
    },
    deleteRows: async (rowIds) => {
      let deleted = 0;
      for (let first = 0; first < rowIds.length; first += DELETED_MAX) {
        const body = { rowIds: rowIds.slice(first, first + DELETED_MAX) };
        deleted += (await data(client.DELETE('/v4/projects/{projectId}/rows', { params, body }))).deletedCount;
      }
      return deleted;
    },
    restoreRows: async (rowIds) => {
      const done = { restored: 0, kept: [] as string[] };
      for (let first = 0; first < rowIds.length; first += DELETED_MAX) {
        const answer = await restore(projectId, { rowIds: rowIds.slice(first, first + DELETED_MAX), columnIds: [], viewIds: [] });
        done.restored += answer.restoredRows;
        done.kept.push(...answer.notRestored.map(({ rowId }) => rowId));
      }
      return done;
    },
    readRows: (rowIds) => (rowIds.length <= SINGLE_READS_MAX ? readEach(projectId, rowIds) : scan(projectId, rowIds)),
  };
}

async function readEach(projectId: string, rowIds: readonly string[]): Promise<Map<string, Row>> {
  const isGone = (error: unknown) => error instanceof ApiError && error.status === 404;
  const rows = await Promise.all(
    rowIds.map((rowId) =>
      readRow(projectId, rowId).catch((error: unknown) => {
        if (!isGone(error)) throw error;
      }),
    ),
  );
  return new Map(rows.filter((row) => row !== undefined).map((row) => [row.id, row]));
}

/** Searches the pages from the end, because new rows are there. */
async function scan(projectId: string, rowIds: readonly string[]): Promise<Map<string, Row>> {
  const wanted = new Set(rowIds);
  const found = new Map<string, Row>();
  const read = (page: number) => fetchPage(projectId, EVERY_ROW, page, PAGE_SIZE, new AbortController().signal);
  const keep = (rows: readonly Row[]) => {
    for (const row of rows) if (wanted.has(row.id)) found.set(row.id, row);
  };
  const first = await read(0);
  keep(first.rows);
  const last = Math.ceil((first.total ?? 0) / PAGE_SIZE) - 1;
  for (let page = last; page > Math.max(0, last - PAGES_MAX) && found.size < wanted.size; page--) keep((await read(page)).rows);
  return found;
}
