import type { Rectangle } from '@glideapps/glide-data-grid';
import type { ReactNode, Ref } from 'react';
import type { Cell, Column } from '../../api/types';
import type { Display } from '../display/display';
import type { RowStore } from '../rows/rowStore';
import type { HeaderPartKind, HeaderState } from './headerParts';
import type { RowHeight } from './rowHeights';
import type { Selection } from './selection';

export interface CellPlace {
  rowIndex: number;
  columnId: string;
}

export interface HoveredCell extends CellPlace {
  cell: Cell;
  bounds: Rectangle;
}

export interface HoveredHeader {
  columnId: string;
  bounds: Rectangle;
}

export interface TypedCell extends CellPlace {
  text: string;
  /** The row whose editor was opened and its cell at that moment. Rows can move while somebody types. */
  row?: { id: string; before: Cell };
  /** Typed into the empty row at the end: it adds a row even if others were added meanwhile. */
  isNew?: boolean;
}

export interface GridHandle {
  /** Scrolls to a column. Returns whether the grid has already drawn it. */
  showColumn: (columnId: string) => boolean;
  /** Scrolls to a cell if it is out of sight. */
  showCell: (columnId: string, rowIndex: number) => void;
  focus: () => void;
  /** Screen position of a cell, or of the column's header if no row is given. */
  boundsOf: (columnId: string, rowIndex?: number) => Rectangle | undefined;
}

export interface GridProps {
  projectId: string;
  store: RowStore;
  columns: readonly Column[];
  widths: Readonly<Record<string, number>>;
  frozenCount: number;
  rowHeight: RowHeight;
  /** What the headers tell, by column id. */
  headers: ReadonlyMap<string, HeaderState>;
  /** Whether to show an empty row at the end for typing a new one. */
  canAddRows: boolean;
  selection: Selection;
  onSelectionChange: (selection: Selection) => void;
  onTyped: (cells: TypedCell[]) => void;
  onRunCell: (place: CellPlace) => void;
  /** Somebody pressed the button in a cell that opens its link or copies its e-mail address. */
  onAct: (display: Display) => void;
  onOpenCell: (place: CellPlace) => void;
  onClear: (selection: Selection) => void;
  onDeleteRows: () => void;
  onHover: (cell: HoveredCell | undefined) => void;
  onHoverHeader: (header: HoveredHeader | undefined) => void;
  onColumnMoved: (from: number, to: number) => void;
  onColumnResized: (columnId: string, width: number) => void;
  /** Somebody clicked the run button, the sort arrow or a count of a header. */
  onHeaderPart: (columnId: string, part: HeaderPartKind) => void;
  onHeaderMenu: (columnId: string, bounds: Rectangle) => void;
  onCellMenu: (place: CellPlace, x: number, y: number) => void;
  /** What stands below each column; undefined for no such row. */
  footer?: (columnId: string) => ReactNode;
  /** Drawn after the last column, and at the right edge if there is no room there. */
  rightElement?: (hasRoom: boolean) => ReactNode;
  ref?: Ref<GridHandle>;
}
