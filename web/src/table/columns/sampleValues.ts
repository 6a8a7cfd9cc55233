import type { Json } from '../../api/types';
import type { Table } from '../state/useTable';

const ROWS_MAX = 300;

/** Values of a column in the first rows, as far as they are loaded. */
export function sampleValues({ store }: Pick<Table, 'store'>, columnId: string): Json[] {
  const rows = Array.from({ length: Math.min(ROWS_MAX, store.total ?? 0) }, (_, index) => store.rowAt(index));
  return rows.flatMap((row) => (row ? [row.cells[columnId]?.value ?? null] : []));
}
