import { CompactSelection, type GridSelection } from '@glideapps/glide-data-grid';
import type { Column } from '../../api/types';

/** A rectangle of cells, by row and column index; the end is exclusive. */
export interface CellRange {
  firstRow: number;
  endRow: number;
  firstColumn: number;
  endColumn: number;
}

/** The selection: whole rows, a rectangle around one cell, or a column. */
export interface Selection {
  rows: CompactSelection;
  columns: CompactSelection;
  range?: CellRange;
  /** The active cell: typing edits it. */
  cell?: { rowIndex: number; columnId: string };
}

export const EMPTY_SELECTION: Selection = { rows: CompactSelection.empty(), columns: CompactSelection.empty() };

/** Selects one cell. */
export function cellSelection(rowIndex: number, columnId: string, columns: readonly Column[]): Selection {
  const column = columns.findIndex(({ id }) => id === columnId);
  return {
    ...EMPTY_SELECTION,
    cell: { rowIndex, columnId },
    range: { firstRow: rowIndex, endRow: rowIndex + 1, firstColumn: column, endColumn: column + 1 },
  };
}

export function toSelection(grid: GridSelection, columns: readonly Column[]): Selection {
  const { current } = grid;
  const columnId = current && columns[current.cell[0]]?.id;
  return {
    rows: grid.rows,
    columns: grid.columns,
    ...(current &&
      columnId && {
        cell: { rowIndex: current.cell[1], columnId },
        range: {
          firstRow: current.range.y,
          endRow: current.range.y + current.range.height,
          firstColumn: current.range.x,
          endColumn: current.range.x + current.range.width,
        },
      }),
  };
}

export function toGridSelection(selection: Selection, columns: readonly Column[]): GridSelection {
  const { rows, columns: selectedColumns, range, cell } = selection;
  const columnIndex = cell ? columns.findIndex((column) => column.id === cell.columnId) : -1;
  if (!cell || !range || columnIndex < 0) return { rows, columns: selectedColumns };
  return {
    rows,
    columns: selectedColumns,
    current: {
      cell: [columnIndex, cell.rowIndex],
      range: {
        x: range.firstColumn,
        y: range.firstRow,
        width: range.endColumn - range.firstColumn,
        height: range.endRow - range.firstRow,
      },
      rangeStack: [],
    },
  };
}

/** Selected rows as ranges of indices; the end is exclusive. */
export function rowRanges(rows: CompactSelection): [number, number][] {
  const runs: [number, number][] = [];
  for (const index of rows) {
    const last = runs.at(-1);
    if (last && last[1] === index) last[1] = index + 1;
    else runs.push([index, index + 1]);
  }
  return runs;
}
