import { type CustomCell, GridCellKind, type LoadingCell } from '@glideapps/glide-data-grid';
import type { Cell, Column } from '../../api/types';
import { isProcessed } from '../../api/types';
import { describeCell } from '../model/cellStatus';
import { toText } from '../model/values';

/** Data of a cell for drawing and editing. */
export interface CellData {
  kind: 'rowmill';
  cell: Cell;
  /** Filled by the service. */
  isProcessed: boolean;
  /** The text. It is parsed as number, boolean or JSON when it is saved. */
  text: string;
  hint?: string;
  /** The cell's row. */
  rowId?: string;
  /** The row whose editor was opened, even if it has moved since. */
  typedInto?: string;
}

export type RowmillCell = CustomCell<CellData>;

/** Row id of the empty row at the end. It stays the new row even if another row takes its index. */
export const NEW_ROW = 'new';

const EMPTY: Cell = { value: null, status: 'idle' };
/** Longer texts are cut for drawing, because a cell shows only one line. */
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
    // Screen readers read the same text as is drawn.
    copyData: isRunColumn && cell.status !== 'idle' && cell.status !== 'completed' ? describeCell(cell) : text,
    data: { kind: 'rowmill', cell, isProcessed: isRunColumn, text, ...(hint && { hint }), ...(rowId && { rowId }) },
  };
}

export function isRowmillCell(cell: CustomCell): cell is RowmillCell {
  return (cell.data as Partial<CellData>).kind === 'rowmill';
}

/** The text as one line, cut for drawing. */
export function drawnText(text: string): string {
  return (text.length > DRAWN_MAX ? text.slice(0, DRAWN_MAX) : text).replace(/\s+/g, ' ');
}
