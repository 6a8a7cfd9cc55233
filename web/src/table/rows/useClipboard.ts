import { type RefObject, useEffect, useRef } from 'react';
import type { Column, Row } from '../../api/types';
import { counted } from '../../ui/format';
import { tell, tellError } from '../../ui/notify';
import type { CellRange, Selection } from '../grid/selection';
import type { Table } from '../useTable';
import type { CellWrite } from './editor';
import { addedRow, planPaste } from './paste';
import { isFiltered } from './rowQuery';
import { formatTsv, parseTsv } from './tsv';
import { readTyped, toText } from './typed';

/** A copy of more rows than this is better made as an export. */
const COPY_ROWS_MAX = 50_000;

/** Copy, cut and paste as in a spreadsheet, while the grid has the focus. */
export function useClipboard(table: Table, frame: RefObject<HTMLElement | null>): void {
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
      void clear(current.current).catch((error: unknown) => tellError(error, 'This was not cut'));
    };
    const onPaste = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData('text/plain');
      if (!isOurs() || !text) return;
      event.preventDefault();
      void paste(current.current, parseTsv(text)).catch((error: unknown) => tellError(error, 'It was not pasted'));
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
}

/** The rectangle to copy: the range, or the selected rows or column whole. */
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
    return tell(`That is more than ${counted(COPY_ROWS_MAX, 'row')}. Export them as CSV instead.`);
  }
  const lines = linesAtHand(table, range, endRow);
  if (lines) return event.clipboardData?.setData('text/plain', formatTsv(lines));
  void copyFar(table, range, endRow);
}

function linesAtHand(table: Table, range: CellRange, endRow: number): string[][] | undefined {
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

/** Rows that must be fetched first come too late for the event; browsers then want the clipboard asked directly. */
async function copyFar(table: Table, range: CellRange, endRow: number): Promise<void> {
  try {
    const rows = await table.store.rowsBetween(range.firstRow, endRow);
    const columns = table.shownColumns.slice(range.firstColumn, range.endColumn);
    const text = formatTsv(rows.map((row) => columns.map((column) => toText(row.cells[column.id]?.value))));
    await navigator.clipboard.writeText(text);
    tell(`${counted(rows.length, 'row')} copied.`);
  } catch (error) {
    tellError(error, 'These rows were not copied. Export them as CSV instead');
  }
}

/** Empties what is selected, in sight or not. */
export async function clear(table: Table, selection?: Selection): Promise<void> {
  const range = rangeOf(table, selection);
  if (!range) return;
  const endRow = Math.min(range.endRow, table.store.total ?? 0);
  if (endRow - range.firstRow > COPY_ROWS_MAX) return tell(`That is more than ${counted(COPY_ROWS_MAX, 'row')}. Select fewer.`);
  const rows = await table.store.rowsBetween(range.firstRow, endRow);
  const columns = table.shownColumns.slice(range.firstColumn, range.endColumn).filter((column) => column.type !== 'reference');
  const emptied = (row: Row, { id }: Column): CellWrite => ({
    rowId: row.id,
    columnId: id,
    value: null,
    before: row.cells[id]?.value ?? null,
  });
  const writes = rows.flatMap((row) => columns.map((column) => emptied(row, column)));
  await table.editor.change(writes);
}

async function paste(table: Table, values: string[][]): Promise<void> {
  const { range } = table.selection;
  const total = table.store.total ?? 0;
  if (!range) return tell('Select the cell to paste into first.');
  const plan = planPaste(values, {
    columns: table.shownColumns.map((column) => ({ id: column.id, isWritable: column.type !== 'reference' })),
    firstColumn: range.firstColumn,
    firstRow: range.firstRow,
    rowCount: total,
    selectedRows: range.endRow - range.firstRow,
    selectedColumns: range.endColumn - range.firstColumn,
  });
  if (plan.added.length > 0 && isFiltered(table.query)) {
    plan.leftOut += plan.added.length;
    plan.added = [];
  }
  const lastRow = Math.max(...plan.writes.map((write) => write.rowIndex), range.firstRow);
  const rows = plan.writes.length > 0 ? await table.store.rowsBetween(range.firstRow, Math.min(total, lastRow + 1)) : [];
  const writes = plan.writes.flatMap(({ rowIndex, columnId, text }): CellWrite[] => {
    const row = rows[rowIndex - range.firstRow];
    const before = row?.cells[columnId]?.value ?? null;
    return row ? [{ rowId: row.id, columnId, value: readTyped(text, before), before }] : [];
  });
  await table.editor.change(writes, plan.added.map(addedRow));
  if (plan.leftOut > 0) tell(`${counted(plan.leftOut, 'value')} had no place: only cells that can be written were filled.`);
}
