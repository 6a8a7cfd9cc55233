import type { Row } from '../../api/types';
import { counted } from '../../ui/format';
import { tell, tellError } from '../../ui/notify';
import { tellAction } from '../../ui/tellAction';
import { NOTHING } from '../grid/selection';
import { wireOf } from '../rows/wire';
import type { Table } from '../state/useTable';
import { countTicked, tickedIds, tickedRows } from './selectedRows';

/** Fewer rows than this are deleted without a question, because that can be undone. */
export const UNASKED_ROWS_MAX = 100;
/** More rows than this are not kept for an undo. */
export const UNDO_ROWS_MAX = 5_000;

/** Deletes the rows that are ticked. */
export async function deleteSelected(table: Table): Promise<void> {
  try {
    if (countTicked(table) > UNDO_ROWS_MAX) {
      const ids = await tickedIds(table);
      table.setSelection(NOTHING);
      return tell(`${counted(await wireOf(table.project.id).deleteRows(ids), 'row')} deleted.`);
    }
    const rows = await tickedRows(table);
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
