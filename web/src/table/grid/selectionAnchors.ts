import { CompactSelection } from '@glideapps/glide-data-grid';
import { isBeingAdded } from '../rows/optimisticRow';
import type { RowStore } from '../rows/rowStore';
import { type CellRange, EMPTY_SELECTION, rowRanges, type Selection } from './selection';

type Rows = Pick<RowStore, 'rowAt' | 'indexOf' | 'total'>;

/** Maximum number of rows to remember by id. */
const REMEMBERED_MAX = 10_000;

/** The rows of a selection: the ids of the known ones, by their index. */
export interface Anchors {
  ids: ReadonlyMap<number, string>;
  /** The active cell is in the empty row at the end. */
  isAtEnd: boolean;
  /** All rows are selected and not all are known, so the selection means the whole list. */
  isEverything: boolean;
  total: number;
}

/** The anchors of a selection. */
export function anchorsOf(selection: Selection, rows: Rows, before?: Anchors): Anchors {
  const total = rows.total ?? 0;
  const ids = new Map<number, string>();
  const note = (first: number, end: number) => {
    for (let index = first; index < end && ids.size < REMEMBERED_MAX; index++) {
      // A known id stays known when the page is evicted from the cache.
      const id = rows.rowAt(index)?.id ?? before?.ids.get(index);
      if (id && !isBeingAdded(id)) ids.set(index, id);
    }
  };
  if (selection.cell) note(selection.cell.rowIndex, selection.cell.rowIndex + 1);
  if (selection.range) note(selection.range.firstRow, selection.range.endRow);
  const runs = rowRanges(selection.rows);
  // Both ends of each range first, because `verifyRows` needs them.
  for (const [first, end] of runs) {
    note(first, first + 1);
    note(end - 1, end);
  }
  for (const [first, end] of runs) note(first, end);
  // The selection may include the empty row at the end.
  const isAll = total > 0 && selection.rows.length - (selection.rows.hasIndex(total) ? 1 : 0) >= total;
  return {
    ids,
    isAtEnd: selection.cell !== undefined && selection.cell.rowIndex >= total,
    isEverything: isAll && ids.size < total,
    total,
  };
}

/** Whether the active cell's row is loaded or being added, but has no anchor yet. */
export function isUnanchored({ cell }: Selection, anchors: Anchors, rows: Rows): boolean {
  return cell !== undefined && !anchors.ids.has(cell.rowIndex) && rows.rowAt(cell.rowIndex) !== undefined;
}

/** The selection at the current indices of its rows; undefined if nothing has moved. */
export function moveSelection(selection: Selection, anchors: Anchors, rows: Rows): Selection | undefined {
  const total = rows.total ?? 0;
  // Before the row count is known, nothing has moved.
  if (rows.total === undefined) return undefined;
  if (anchors.isEverything) {
    // The empty row at the end stays selected with the others.
    const more = selection.rows.hasIndex(anchors.total) ? 1 : 0;
    return total === anchors.total ? undefined : { ...EMPTY_SELECTION, rows: everyRow(total === 0 ? 0 : total + more) };
  }
  if (anchors.isAtEnd) return moveEnd(selection, anchors, rows, total);
  const hasMoved = [...anchors.ids].some(([index, id]) => {
    const row = rows.rowAt(index);
    // An evicted page gives no evidence, but after deletions it may hold other rows.
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

/** Counts selected rows without a known id. They cannot be followed. */
export function countUnknownRows(selection: Selection, { ids, total }: Anchors): number {
  let unknown = 0;
  for (const index of selection.rows) if (index < total && !ids.has(index)) unknown += 1;
  return unknown;
}

/** Rows added by others push the empty row at the end down; rows typed there do not. */
function moveEnd(selection: Selection, anchors: Anchors, rows: Rows, total: number): Selection | undefined {
  const { cell, range } = selection;
  if (!cell || !range || cell.rowIndex === total) return undefined;
  const there = rows.rowAt(cell.rowIndex);
  if (there && isBeingAdded(there.id)) return undefined;
  // One row past the end: it exists as soon as the row before it is saved.
  if (cell.rowIndex === total + 1 && total >= anchors.total) return undefined;
  return { ...selection, cell: { ...cell, rowIndex: total }, range: { ...range, firstRow: total, endRow: total + 1 } };
}

/** Selected rows keep their selection; deleted or unknown rows lose it. */
function movedRows(selection: Selection, now: (index: number) => number | undefined): CompactSelection {
  let rows = CompactSelection.empty();
  for (const index of selection.rows) {
    const place = now(index);
    if (place !== undefined) rows = rows.add(place);
  }
  return rows;
}

/** A range moves with its rows while they stay adjacent. Otherwise only the active row is left. */
function moved(range: CellRange, from: number, to: number, now: (index: number) => number | undefined): CellRange {
  const shift = to - from;
  const together = Array.from({ length: Math.min(range.endRow - range.firstRow, REMEMBERED_MAX) }, (_, place) => range.firstRow + place);
  if (together.every((index) => now(index) === index + shift)) {
    return { ...range, firstRow: range.firstRow + shift, endRow: range.endRow + shift };
  }
  return { ...range, firstRow: to, endRow: to + 1 };
}
