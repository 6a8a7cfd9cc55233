import type { Json } from '../../api/types';
import { pluralize } from '../../ui/format';
import { notify, notifyError } from '../../ui/notify';
import { parseFor } from '../formats/parseTyped';
import type { TypedCell } from '../grid/gridTypes';
import type { CellWrite } from '../rows/editor';
import type { Table } from '../state/useTable';
import { findEditConflicts, notifyConflicts } from './editConflicts';

/** The most rows that one manual edit may write. */
const ROWS_MAX = 50_000;

/** Handles typed or filled cells: writes cells of existing rows, and adds the row typed at the end. */
export function useTypedCells(table: Table): (cells: TypedCell[]) => void {
  return (cells) => void write(table, cells).catch((error: unknown) => notifyError(error, 'This was not saved'));
}

async function write(table: Table, cells: TypedCell[]): Promise<void> {
  const { store, editor } = table;
  const total = store.total ?? 0;
  const followers = new Set(table.columns.filter((column) => column.type === 'reference').map((column) => column.id));
  const formats = new Map(table.columns.map(({ id, format }) => [id, format] as const));
  const added = new Map<number, Record<string, Json>>();
  const inside: TypedCell[] = [];
  for (const cell of cells) {
    if (followers.has(cell.columnId)) continue;
    if (!cell.isNew && (cell.row || cell.rowIndex < total)) inside.push(cell);
    else if (cell.text !== '') added.set(cell.rowIndex, { ...added.get(cell.rowIndex), [cell.columnId]: parseFor(cell.text, null, formats.get(cell.columnId)) });
  }
  const rowAt = await reach(table, inside);
  if (!rowAt) return notify(`That is more than ${pluralize(ROWS_MAX, 'row')} at once. Select fewer.`);
  const crossed = findEditConflicts(inside, store);
  const writes = inside.flatMap(({ rowIndex, columnId, text, row: opened }): CellWrite[] => {
    if (opened) {
      const value = parseFor(text, opened.before.value, formats.get(columnId));
      return [{ rowId: opened.id, columnId, value, before: crossed.get(opened.id)?.cell ?? opened.before }];
    }
    const row = rowAt(rowIndex);
    const before = row?.cells[columnId];
    return row ? [{ rowId: row.id, columnId, value: parseFor(text, before?.value ?? null, formats.get(columnId)), before }] : [];
  });
  // A fill that reaches into the empty row at the end must not add a row.
  const isDone = await editor.change(writes, inside.length > 0 ? [] : [...added.values()]);
  if (isDone) notifyConflicts(crossed, editor);
}

/** Returns a lookup for the rows of these cells, after fetching those that are not loaded; undefined if they are too many. */
async function reach({ store }: Table, all: readonly TypedCell[]) {
  const cells = all.filter(({ row }) => !row);
  if (cells.every(({ rowIndex }) => store.rowAt(rowIndex))) return store.rowAt;
  const first = cells.reduce((least, { rowIndex }) => Math.min(least, rowIndex), Infinity);
  const last = cells.reduce((most, { rowIndex }) => Math.max(most, rowIndex), 0);
  if (last - first >= ROWS_MAX) return undefined;
  const rows = await store.rowsBetween(first, last + 1);
  return (rowIndex: number) => rows[rowIndex - first];
}
