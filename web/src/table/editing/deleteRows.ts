import type { Row } from '../../api/types';
import { pluralize } from '../../ui/format';
import { notify, notifyError } from '../../ui/notify';
import { notifyAction } from '../../ui/notifyAction';
import { EMPTY_SELECTION } from '../grid/selection';
import { rowApi } from '../rows/rowApi';
import type { Table } from '../state/useTable';
import { countSelectedRows, selectedRowIds, selectedRows } from './selectedRows';

/** Fewer rows than this are deleted without a question, because that can be undone. */
export const UNCONFIRMED_ROWS_MAX = 100;
/** More rows than this are not kept for an undo. */
export const UNDO_ROWS_MAX = 5_000;

/** Deletes the rows that are ticked. */
export async function deleteSelected(table: Table): Promise<void> {
  try {
    if (countSelectedRows(table) > UNDO_ROWS_MAX) {
      const ids = await selectedRowIds(table);
      table.setSelection(EMPTY_SELECTION);
      return notify(`${pluralize(await rowApi(table.project.id).deleteRows(ids), 'row')} deleted.`);
    }
    const rows = await selectedRows(table);
    table.setSelection(EMPTY_SELECTION);
    await deleteRows(table, rows);
  } catch (error) {
    notifyError(error, 'The rows were not deleted');
  }
}

/** Deletes rows and offers to take that back. */
export async function deleteRows(table: Table, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const step = await table.editor.remove(rows);
  if (step) notifyAction(`${pluralize(rows.length, 'row')} deleted.`, 'Undo', () => void table.editor.undo(step));
}
