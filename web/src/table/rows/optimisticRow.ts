import { ApiError } from '../../api/error';
import type { Cell, Json, Row } from '../../api/types';
import type { RowBody } from './rowApi';

const NEW = 'new_';

/** Optimistic row: shown before the service has it. */
export function optimisticRow(number: number, body: RowBody): Row {
  const cells = Object.entries(body).map(([columnId, value]) => [columnId, writtenCell(value, false)] as const);
  return { id: `${NEW}${number}`, cells: Object.fromEntries(cells) };
}

export function isBeingAdded(rowId: string): boolean {
  return rowId.startsWith(NEW);
}

/** A random idempotency key. `crypto.randomUUID` is not available without TLS. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('');
}

/** The error for cells of a row that was not saved. */
export function rowNotAddedError(): ApiError {
  return new ApiError('Its row was not saved. Save the row first, then try again.', 0, undefined, []);
}

/** The cell as the service will store it. */
export function writtenCell(value: Json, isProcessedColumn: boolean): Cell {
  if (!isProcessedColumn || value === null) return { value, status: 'idle' };
  return { value, status: 'completed', manual: true };
}
