import { cellSelection, type Selection } from '../grid/selection';
import type { Table } from '../state/useTable';

export interface Step {
  rows: number;
  columns: number;
}

/** Keys that move from cell to cell. */
export const STEPS: Readonly<Record<string, Step>> = {
  ArrowUp: { rows: -1, columns: 0 },
  ArrowDown: { rows: 1, columns: 0 },
  ArrowLeft: { rows: 0, columns: -1 },
  ArrowRight: { rows: 0, columns: 1 },
};

type Rows = Pick<Table, 'store' | 'shownColumns' | 'total'>;

/** The selection one step away from a cell; undefined at the edge of the table, or if the row is not in the list. */
export function stepFrom({ store, shownColumns, total = 0 }: Rows, rowId: string, columnId: string, { rows, columns }: Step): Selection | undefined {
  const rowIndex = store.indexOf(rowId);
  const columnIndex = shownColumns.findIndex(({ id }) => id === columnId);
  if (rowIndex === undefined || columnIndex < 0) return undefined;
  const column = shownColumns[columnIndex + columns];
  const isInside = rowIndex + rows >= 0 && rowIndex + rows < total;
  return column && isInside ? cellSelection(rowIndex + rows, column.id, shownColumns) : undefined;
}
