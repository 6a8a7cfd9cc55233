import { parseFor } from '../formats/parseTyped';
import type { CellWrite } from '../rows/editor';
import type { Block } from '../rows/pasteBlock';
import { isFiltered } from '../rows/rowQuery';
import type { Table } from '../state/useTable';
import { addedRow, planPaste, type PasteTarget } from './planPaste';

/** Writes a block. Returns how many values did not fit, or undefined if it failed; the user has then seen the error. */
export async function pasteInto(
  table: Table,
  block: Block,
  target: Omit<PasteTarget, 'rowCount'>,
  options: Parameters<Table['editor']['change']>[2] = {},
): Promise<number | undefined> {
  const { store, editor, query } = table;
  const rowCount = store.total ?? 0;
  const plan = planPaste(block, { ...target, rowCount });
  if (plan.added.length > 0 && isFiltered(query)) {
    plan.leftOut += plan.added.length;
    plan.added = [];
  }
  const endRow = plan.writes.reduce((most, { rowIndex }) => Math.max(most, rowIndex + 1), target.firstRow);
  const rows = await store.rowsBetween(target.firstRow, Math.min(rowCount, endRow));
  const formats = new Map(table.columns.map(({ id, format }) => [id, format] as const));
  const writes = plan.writes.flatMap(({ rowIndex, columnId, text }): CellWrite[] => {
    const row = rows[rowIndex - target.firstRow];
    const before = row?.cells[columnId];
    return row ? [{ rowId: row.id, columnId, value: parseFor(text, before?.value ?? null, formats.get(columnId)), before }] : [];
  });
  const isDone = await editor.change(writes, plan.added.map(addedRow), options);
  return isDone ? plan.leftOut : undefined;
}
