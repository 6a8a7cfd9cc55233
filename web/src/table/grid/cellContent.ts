import { type CustomCell, GridCellKind, type LoadingCell } from '@glideapps/glide-data-grid';
import type { Cell, Column } from '../../api/types';
import { isProcessed } from '../../api/types';
import { describeCell } from '../model/cellStatus';
import { toText } from '../model/values';

/** What is drawn and edited in a cell. */
export interface CellData {
  kind: 'rowmill';
  cell: Cell;
  /** Filled by the service. */
  isProcessed: boolean;
  /** What was typed; a number, a truth value or JSON is read from it when it is written. */
  text: string;
  hint?: string;
  /** The row it stands in. */
  rowId?: string;
  /** The row whose cell was opened to type this, wherever that row stands by now. */
  typedInto?: string;
}

export type RowmillCell = CustomCell<CellData>;

/** Stands for the row to type into, behind the last: it is no other's row, whatever comes to stand at its place. */
export const NEW_ROW = 'new';

const EMPTY: Cell = { value: null, status: 'idle' };
/** Longer texts are cut for drawing: a cell shows a line. */
const DRAWN_MAX = 400;

const LOADING: LoadingCell = { kind: GridCellKind.Loading, allowOverlay: false, skeletonWidth: 90, skeletonWidthVariability: 60 };

export function loadingContent(): LoadingCell {
  return LOADING;
}

export function cellContent(column: Column, cell: Cell = EMPTY, { hint, rowId }: Pick<CellData, 'hint' | 'rowId'> = {}): RowmillCell {
  const text = toText(cell.value);
  const isRunColumn = isProcessed(column);
  return {
    kind: GridCellKind.Custom,
    allowOverlay: true,
    readonly: column.type === 'reference',
    // What is read aloud is what is drawn.
    copyData: isRunColumn && cell.status !== 'idle' && cell.status !== 'completed' ? describeCell(cell) : text,
    data: { kind: 'rowmill', cell, isProcessed: isRunColumn, text, ...(hint && { hint }), ...(rowId && { rowId }) },
  };
}

export function isRowmillCell(cell: CustomCell): cell is RowmillCell {
  return (cell.data as Partial<CellData>).kind === 'rowmill';
}

/** The line that stands in the cell. */
export function drawnText(text: string): string {
  return (text.length > DRAWN_MAX ? text.slice(0, DRAWN_MAX) : text).replace(/\s+/g, ' ');
}
