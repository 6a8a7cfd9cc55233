import type { Row } from '../../api/types';
import { pluralize } from '../../ui/format';
import { notify, notifyError } from '../../ui/notify';
import { notifyAction } from '../../ui/notifyAction';
import { EMPTY_SELECTION } from '../grid/selection';
import { rowApi } from '../rows/rowApi';
import type { Table } from '../state/useTable';
import { countSelectedRows, selectedRowIds, selectedRows } from './selectedRows';

/** Up to this many rows are deleted without confirmation, because that can be undone. */
export const UNCONFIRMED_ROWS_MAX = 100;
/** Deleting more rows than this cannot be undone. */
export const UNDO_ROWS_MAX = 5_000;

/** Deletes the selected rows. */
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

/** Deletes rows and offers an undo. */
export async function deleteRows(table: Table, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const step = await table.editor.remove(rows);
  if (step) notifyAction(`${pluralize(rows.length, 'row')} deleted.`, 'Undo', () => void table.editor.undo(step));
}
