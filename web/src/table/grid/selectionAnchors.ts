import { CompactSelection } from '@glideapps/glide-data-grid';
import { isBeingAdded } from '../rows/optimisticRow';
import type { RowStore } from '../rows/rowStore';
import { type CellRange, EMPTY_SELECTION, rowRanges, type Selection } from './selection';

type Rows = Pick<RowStore, 'rowAt' | 'indexOf' | 'total'>;

/** More rows than this are not remembered one by one. */
const REMEMBERED_MAX = 10_000;

/** Which rows a selection is about: the ids of those that are known, by the index they had. */
export interface Anchors {
  ids: ReadonlyMap<number, string>;
  /** The cell is in the row to type into, behind the last. */
  isAtEnd: boolean;
  /** Every row of the list is ticked, and not all of them are known: the list is meant, whatever it holds. */
  isEverything: boolean;
  total: number;
}

/** The anchors of a selection. */
export function anchorsOf(selection: Selection, rows: Rows, before?: Anchors): Anchors {
  const total = rows.total ?? 0;
  const ids = new Map<number, string>();
  const note = (first: number, end: number) => {
    for (let index = first; index < end && ids.size < REMEMBERED_MAX; index++) {
      // What was known of a row stays known when its page is given up.
      const id = rows.rowAt(index)?.id ?? before?.ids.get(index);
      if (id && !isBeingAdded(id)) ids.set(index, id);
    }
  };
  if (selection.cell) note(selection.cell.rowIndex, selection.cell.rowIndex + 1);
  if (selection.range) note(selection.range.firstRow, selection.range.endRow);
  const runs = rowRanges(selection.rows);
  // Where runs begin and end matters most.
  for (const [first, end] of runs) {
    note(first, first + 1);
    note(end - 1, end);
  }
  for (const [first, end] of runs) note(first, end);
  // The row to type into may be ticked as well.
  const isAll = total > 0 && selection.rows.length - (selection.rows.hasIndex(total) ? 1 : 0) >= total;
  return {
    ids,
    isAtEnd: selection.cell !== undefined && selection.cell.rowIndex >= total,
    isEverything: isAll && ids.size < total,
    total,
  };
}

/** Whether the row of the selected cell has become known, or is being added, only now. */
export function isUnanchored({ cell }: Selection, anchors: Anchors, rows: Rows): boolean {
  return cell !== undefined && !anchors.ids.has(cell.rowIndex) && rows.rowAt(cell.rowIndex) !== undefined;
}

/** The same selection where its rows stand now. Undefined if nothing has moved. */
export function moveSelection(selection: Selection, anchors: Anchors, rows: Rows): Selection | undefined {
  const total = rows.total ?? 0;
  // Until it is known what there is, nothing has moved.
  if (rows.total === undefined) return undefined;
  if (anchors.isEverything) {
    // The row to type into stays ticked with the others.
    const more = selection.rows.hasIndex(anchors.total) ? 1 : 0;
    return total === anchors.total ? undefined : { ...EMPTY_SELECTION, rows: everyRow(total === 0 ? 0 : total + more) };
  }
  if (anchors.isAtEnd) return moveEnd(selection, anchors, rows, total);
  const hasMoved = [...anchors.ids].some(([index, id]) => {
    const row = rows.rowAt(index);
    // A page that is not at hand says nothing, but where rows have gone it may hold others.
    return row ? row.id !== id : total < anchors.total;
  });
  if (!hasMoved) return undefined;
  const now = (index: number) => {
    const id = anchors.ids.get(index);
    return id === undefined ? undefined : rows.rowAt(index)?.id === id ? index : rows.indexOf(id);
  };
  const cellRow = selection.cell && now(selection.cell.rowIndex);
  return {
    ...EMPTY_SELECTION,
    columns: selection.columns,
    rows: movedRows(selection, now),
    ...(selection.cell &&
      selection.range &&
      cellRow !== undefined && {
        cell: { ...selection.cell, rowIndex: cellRow },
        range: moved(selection.range, selection.cell.rowIndex, cellRow, now),
      }),
  };
}

function everyRow(total: number): CompactSelection {
  return total === 0 ? CompactSelection.empty() : CompactSelection.fromSingleSelection([0, total]);
}

/** Ticks of rows nobody knows, which cannot be followed. */
export function countUnknownRows(selection: Selection, { ids, total }: Anchors): number {
  let unknown = 0;
  for (const index of selection.rows) if (index < total && !ids.has(index)) unknown += 1;
  return unknown;
}

/** Rows that came meanwhile push the row to type into down, unless they were typed there. */
function moveEnd(selection: Selection, anchors: Anchors, rows: Rows, total: number): Selection | undefined {
  const { cell, range } = selection;
  if (!cell || !range || cell.rowIndex === total) return undefined;
  const there = rows.rowAt(cell.rowIndex);
  if (there && isBeingAdded(there.id)) return undefined;
  // One row behind the end: it will be there as soon as the one before it is, unless that was not taken.
  if (cell.rowIndex === total + 1 && total >= anchors.total) return undefined;
  return { ...selection, cell: { ...cell, rowIndex: total }, range: { ...range, firstRow: total, endRow: total + 1 } };
}

/** Ticks stay with their rows; those of rows that are gone, or nowhere to be found, go. */
function movedRows(selection: Selection, now: (index: number) => number | undefined): CompactSelection {
  let rows = CompactSelection.empty();
  for (const index of selection.rows) {
    const place = now(index);
    if (place !== undefined) rows = rows.add(place);
  }
  return rows;
}

/** A range goes with its rows as long as they stay together; else the cell alone is left. */
function moved(range: CellRange, from: number, to: number, now: (index: number) => number | undefined): CellRange {
  const shift = to - from;
  const together = Array.from({ length: Math.min(range.endRow - range.firstRow, REMEMBERED_MAX) }, (_, place) => range.firstRow + place);
  if (together.every((index) => now(index) === index + shift)) {
    return { ...range, firstRow: range.firstRow + shift, endRow: range.endRow + shift };
  }
  return { ...range, firstRow: to, endRow: to + 1 };
}
