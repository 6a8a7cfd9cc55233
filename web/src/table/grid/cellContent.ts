import { type CustomCell, GridCellKind, type LoadingCell } from '@glideapps/glide-data-grid';
import type { Cell, Column, Format } from '../../api/types';
import { isProcessed } from '../../api/types';
import type { ColumnStyle } from '../display/columnStyle';
import { type Display, displayOf } from '../display/display';
import { imageIn } from '../display/image';
import { imageAddress } from '../display/imageAddress';
import { describeCell } from '../model/cellStatus';
import { toText } from '../model/values';

/** Data of a cell for drawing and editing. */
export interface CellData {
  kind: 'rowmill';
  cell: Cell;
  /** The type of the column's values. */
  format?: Format;
  /** What is drawn of the value. */
  display: Display;
  /** Filled by the service. */
  isProcessed: boolean;
  /** The text. It is parsed as number, boolean or JSON when it is saved. */
  text: string;
  hint?: string;
  /** Where the thumbnail is of the image that the value names. */
  image?: string;
  /** The cell's row. */
  rowId?: string;
  /** The row whose editor was opened, even if it has moved since. */
  typedInto?: string;
}

export type RowmillCell = CustomCell<CellData>;

/** Row id of the empty row at the end. It stays the new row even if another row takes its index. */
export const NEW_ROW = 'new';

const EMPTY: Cell = { value: null, status: 'idle' };
const LOADING: LoadingCell = { kind: GridCellKind.Loading, allowOverlay: false, skeletonWidth: 90, skeletonWidthVariability: 60 };

export function loadingContent(): LoadingCell {
  return LOADING;
}

interface Options extends Pick<CellData, 'hint' | 'rowId'> {
  style?: ColumnStyle | undefined;
  /** The project, if images are shown. */
  projectId?: string;
}

export function cellContent(column: Column, cell: Cell = EMPTY, { hint, rowId, style, projectId }: Options = {}): RowmillCell {
  const text = toText(cell.value);
  const display = displayOf(cell.value, style);
  const isRunColumn = isProcessed(column);
  const image = projectId && rowId && imageIn(column.header, cell.value);
  return {
    kind: GridCellKind.Custom,
    allowOverlay: true,
    readonly: column.type === 'reference',
    // Screen readers read the same text as is drawn.
    copyData: isRunColumn && cell.status !== 'idle' && cell.status !== 'completed' ? describeCell(cell) : display.text,
    data: { kind: 'rowmill', cell, display, isProcessed: isRunColumn, text, ...(column.format && { format: column.format }), ...(hint && { hint }), ...(rowId && { rowId }), ...(image && { image: imageAddress(projectId, rowId, column.id, image) }) },
  };
}

export function isRowmillCell(cell: CustomCell): cell is RowmillCell {
  return (cell.data as Partial<CellData>).kind === 'rowmill';
}

/** What a click on the button in a cell does: open its link, copy its e-mail address, or toggle its checkbox. */
export function actionOf({ display, cell, isProcessed: isRunColumn }: CellData): 'open' | 'copy' | 'check' | undefined {
  if (isRunColumn && cell.status !== 'idle' && cell.status !== 'completed') return undefined;
  if (display.kind === 'link') return 'open';
  if (display.kind === 'email') return 'copy';
  return display.kind === 'checkbox' && !isRunColumn ? 'check' : undefined;
}
