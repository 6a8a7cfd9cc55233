import type { Row } from '../../api/types';
import { pluralize } from '../../ui/format';
import { notifyError } from '../../ui/notify';
import { notifyAction } from '../../ui/notifyAction';
import { EMPTY_SELECTION } from '../grid/selection';
import type { UndoStep } from '../rows/undo';
import type { Table } from '../state/useTable';
import { countSelectedRows, selectedRowIds, selectedRows } from './selectedRows';

/** Up to this many rows are deleted without confirmation, because that can be undone. */
export const UNCONFIRMED_ROWS_MAX = 100;
/** Of more rows than this, the values are not loaded before they are deleted. */
const LOADED_ROWS_MAX = 5_000;

/** Deletes the selected rows. */
export async function deleteSelected(table: Table): Promise<void> {
  try {
    if (countSelectedRows(table) > LOADED_ROWS_MAX) {
      const ids = await selectedRowIds(table);
      table.setSelection(EMPTY_SELECTION);
      return offerUndo(table, ids.length, await table.editor.removeAll(ids.map((id) => ({ id }))));
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
  offerUndo(table, rows.length, await table.editor.remove(rows));
}

function offerUndo(table: Table, count: number, step: UndoStep | undefined): void {
  if (step) notifyAction(`${pluralize(count, 'row')} deleted.`, 'Undo', () => void table.editor.undo(step));
}
