import { type RefObject, useEffect, useRef, useState } from 'react';
import type { Column, Row } from '../../api/types';
import { pluralize } from '../../ui/format';
import { notify, notifyError } from '../../ui/notify';
import type { CellRange, Selection } from '../grid/selection';
import { toText } from '../model/values';
import type { CellWrite } from '../rows/editor';
import { isBlock, isTooLarge, needsAnswer, PASTE_CELLS_MAX, PASTE_ROWS_MAX } from '../rows/pasteBlock';
import { formatTsv, parseTsv } from '../rows/tsv';
import type { Table } from '../state/useTable';
import type { PasteOffer } from './PasteDialog';
import { pasteInto } from './pasteInto';

/** Pastes of this many rows take a while, so they report start and end. */
const LONG_ROWS = 5_000;
/** Larger copies are refused in favour of an export. */
const COPY_ROWS_MAX = 50_000;

/** Clearing more values than this shows a message. */
const TOLD_CELLS_MIN = 50;

export interface Clipboard {
  /** A paste that waits for the user's answer. */
  offer: PasteOffer | undefined;
  closeOffer: () => void;
}

/** Copy, cut and paste as in a spreadsheet, while the grid has the focus. */
export function useClipboard(table: Table, frame: RefObject<HTMLElement | null>): Clipboard {
  const [offer, setOffer] = useState<PasteOffer>();
  const current = useRef(table);
  current.current = table;
  useEffect(() => {
    const isOurs = () => {
      const active = document.activeElement;
      return frame.current?.contains(active) === true && active?.tagName !== 'INPUT' && active?.tagName !== 'TEXTAREA';
    };
    const onCopy = (event: ClipboardEvent) => {
      if (isOurs()) copy(current.current, event);
    };
    const onCut = (event: ClipboardEvent) => {
      if (!isOurs()) return;
      copy(current.current, event);
      void clearSelected(current.current).catch((error: unknown) => notifyError(error, 'The cells were not cut'));
    };
    const onPaste = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData('text/plain');
      if (!text) return;
      // An empty table takes a paste without a selected cell.
      const isFirst = current.current.store.total === 0 && document.activeElement === document.body;
      const isLeft = isUntouchedEditor(event.target) && isBlock(parseTsv(text));
      if (!isOurs() && !isFirst && !isLeft) return;
      event.preventDefault();
      paste(current.current, parseTsv(text), setOffer).catch((error: unknown) => notifyError(error, 'The paste failed'));
    };
    document.addEventListener('copy', onCopy);
    document.addEventListener('cut', onCut);
    document.addEventListener('paste', onPaste);
    return () => {
      document.removeEventListener('copy', onCopy);
      document.removeEventListener('cut', onCut);
      document.removeEventListener('paste', onPaste);
    };
  }, [frame]);
  return { offer, closeOffer: () => setOffer(undefined) };
}

/** An open cell editor without typed text: it closes by itself when a block of cells is pasted. */
function isUntouchedEditor(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.dataset.untouched !== undefined;
}

/** The rectangle to copy: the range, or whole rows or a whole column. */
function rangeOf(table: Table, selection: Selection = table.selection): CellRange | undefined {
  const { rows, columns, range } = selection;
  const whole = { firstColumn: 0, endColumn: table.shownColumns.length };
  const firstRow = rows.first();
  if (firstRow !== undefined) return { ...whole, firstRow, endRow: (rows.last() ?? firstRow) + 1 };
  const column = columns.first();
  if (column !== undefined) {
    return { firstRow: 0, endRow: table.store.total ?? 0, firstColumn: column, endColumn: column + 1 };
  }
  return range;
}

function copy(table: Table, event: ClipboardEvent): void {
  const range = rangeOf(table);
  if (!range) return;
  event.preventDefault();
  const endRow = Math.min(range.endRow, table.store.total ?? 0);
  if (endRow - range.firstRow > COPY_ROWS_MAX) {
    return notify(`That is more than ${pluralize(COPY_ROWS_MAX, 'row')}. Export them as CSV instead.`);
  }
  const lines = loadedLines(table, range, endRow);
  if (lines) return event.clipboardData?.setData('text/plain', formatTsv(lines));
  void fetchAndCopy(table, range, endRow);
}

function loadedLines(table: Table, range: CellRange, endRow: number): string[][] | undefined {
  const columns = table.shownColumns.slice(range.firstColumn, range.endColumn);
  const lines: string[][] = [];
  for (let index = range.firstRow; index < endRow; index++) {
    if (table.selection.rows.length > 0 && !table.selection.rows.hasIndex(index)) continue;
    const row = table.store.rowAt(index);
    if (!row) return undefined;
    lines.push(columns.map((column) => toText(row.cells[column.id]?.value)));
  }
  return lines;
}

/** Fetched rows arrive too late for the copy event, so this writes to the clipboard directly. */
async function fetchAndCopy(table: Table, range: CellRange, endRow: number): Promise<void> {
  try {
    const rows = onlySelected(await table.store.rowsBetween(range.firstRow, endRow), range, table.selection);
    const columns = table.shownColumns.slice(range.firstColumn, range.endColumn);
    const text = formatTsv(rows.map((row) => columns.map((column) => toText(row.cells[column.id]?.value))));
    await navigator.clipboard.writeText(text);
    notify(`${pluralize(rows.length, 'row')} copied.`);
  } catch (error) {
    notifyError(error, 'These rows were not copied. Export them as CSV instead');
  }
}

/** Selected rows need not be adjacent. */
function onlySelected(rows: readonly Row[], { firstRow }: CellRange, selection: Selection): Row[] {
  return rows.filter((_, place) => selection.rows.length === 0 || selection.rows.hasIndex(firstRow + place));
}

/** Clears the selected cells, including rows out of sight. */
export async function clearSelected(table: Table, selection?: Selection): Promise<void> {
  const range = rangeOf(table, selection);
  if (!range) return;
  const endRow = Math.min(range.endRow, table.store.total ?? 0);
  if (endRow - range.firstRow > COPY_ROWS_MAX) return notify(`That is more than ${pluralize(COPY_ROWS_MAX, 'row')}. Select fewer.`);
  const rows = onlySelected(await table.store.rowsBetween(range.firstRow, endRow), range, selection ?? table.selection);
  const columns = table.shownColumns.slice(range.firstColumn, range.endColumn).filter((column) => column.type !== 'reference');
  const emptied = (row: Row, { id }: Column): CellWrite => ({
    rowId: row.id,
    columnId: id,
    value: null,
    before: row.cells[id],
  });
  const writes = rows.flatMap((row) => columns.map((column) => emptied(row, column)));
  const lost = writes.filter(({ before }) => (before?.value ?? null) !== null).length;
  const isDone = await table.editor.change(writes);
  // Most of many cells are out of sight, so an accidental clear would go unnoticed.
  if (isDone && lost > TOLD_CELLS_MIN) notify(`${pluralize(lost, 'cell')} cleared. Press Ctrl + Z to undo.`);
}

async function paste(table: Table, block: string[][], ask: (offer: PasteOffer) => void): Promise<void> {
  const isEmptyTable = table.store.total === 0;
  const range = table.selection.range ?? (isEmptyTable ? { firstRow: 0, endRow: 1, firstColumn: 0, endColumn: 1 } : undefined);
  if (!range) return notify('Select the cell to paste into first.');
  if (isTooLarge(block)) {
    return notify(`That is more than ${pluralize(PASTE_ROWS_MAX, 'row')} or ${pluralize(PASTE_CELLS_MAX, 'cell')}. Import it as a file instead.`);
  }
  const { firstRow, firstColumn } = range;
  const columns = table.shownColumns.map(({ id, header, type }) => ({
    id,
    header,
    isWritable: type !== 'reference',
    isComputed: type !== 'manual',
  }));
  if (needsAnswer(block, columns, firstColumn, isEmptyTable)) {
    const isAtEnd = firstRow >= (table.store.total ?? 0);
    return ask({ block, columns, firstRow, firstColumn, isEmptyTable, isAtEnd });
  }
  const selected = { selectedRows: range.endRow - firstRow, selectedColumns: range.endColumn - firstColumn };
  const isLong = block.length >= LONG_ROWS;
  if (isLong) notify(`Pasting ${pluralize(block.length, 'row')}.`);
  const leftOut = await pasteInto(table, block, { columns, firstColumn, firstRow, ...selected });
  if (isLong && leftOut !== undefined) notify(`${pluralize(block.length, 'row')} pasted.`);
  if (leftOut) notify(`${pluralize(leftOut, 'value')} did not fit: only writable cells were filled.`);
}
