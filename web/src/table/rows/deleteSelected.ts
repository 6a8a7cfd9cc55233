import { counted } from '../../ui/format';
import { tell, tellError } from '../../ui/notify';
import { tellAction } from '../../ui/tellAction';
import { NOTHING, rowRuns } from '../grid/selection';
import type { Table } from '../useTable';
import { fetchIds } from './fetchRows';
import type { Row } from '../../api/types';
import { wireOf } from './wire';

/** Fewer rows than this are deleted without a question, because that can be undone. */
export const UNASKED_ROWS_MAX = 100;
/** More rows than this are not kept for an undo. */
export const UNDO_ROWS_MAX = 5_000;

/** Deletes the rows that are selected. */
export async function deleteSelected(table: Table): Promise<void> {
  const { selection, total = 0 } = table;
  const runs = rowRuns(selection.rows).map(([first, end]): [number, number] => [first, Math.min(end, total)]);
  const count = runs.reduce((sum, [first, end]) => sum + end - first, 0);
  try {
    if (count > UNDO_ROWS_MAX) {
      const ids: string[] = [];
      for (const [first, end] of runs) ids.push(...(await fetchIds(table.project.id, table.query, first, end)));
      table.setSelection(NOTHING);
      return tell(`${counted(await wireOf(table.project.id).deleteRows(ids), 'row')} deleted.`);
    }
    const rows: Row[] = [];
    for (const [first, end] of runs) rows.push(...(await table.store.rowsBetween(first, end)));
    table.setSelection(NOTHING);
    await deleteRows(table, rows);
  } catch (error) {
    tellError(error, 'They were not deleted');
  }
}

/** Deletes rows and offers to take that back. */
export async function deleteRows(table: Table, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const step = await table.editor.remove(rows);
  if (step) tellAction(`${counted(rows.length, 'row')} deleted.`, 'Undo', () => void table.editor.undo(step));
}
