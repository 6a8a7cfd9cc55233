import type { TriggerBody } from '../../api/types';
import { pluralize } from '../../ui/format';
import { notify } from '../../ui/notify';
import { notifyAction } from '../../ui/notifyAction';
import { notRestoredMessage } from '../../ui/restoredMessage';
import { hideToast } from '../../ui/toasts';
import type { UndoResult } from './editor';

/** Tells what an undo could not restore. */
export function notifyUndone(undone: UndoResult, run: (body: TriggerBody) => Promise<void>): void {
  // What offered the undo is out of date now.
  hideToast();
  const message = undoMessage(undone);
  if (!message) return;
  const { manualCells } = undone;
  if (manualCells.length === 0) return notify(message);
  const rowIds = [...new Set(manualCells.map(({ rowId }) => rowId))];
  const columnIds = [...new Set(manualCells.map(({ columnId }) => columnId))];
  notifyAction(message, 'Run again', () => void run({ rowIds, columnIds, force: true }));
}

export function undoMessage({ skippedCells, keptRows, keptColumns, recreatedRows, unrestoredRows, manualCells }: UndoResult): string {
  const parts: string[] = [];
  if (skippedCells > 0) parts.push(`${pluralize(skippedCells, 'cell')} ${were(skippedCells)} not changed: edited by somebody else or deleted.`);
  if (keptRows > 0) parts.push(`${pluralize(keptRows, 'row')} ${were(keptRows)} kept: edited by somebody else.`);
  if (keptColumns > 0) parts.push(`The ${pluralize(keptColumns, 'column')} created for it remain${keptColumns === 1 ? 's' : ''}. Delete what you do not need from the header menu.`);
  if (recreatedRows > 0) parts.push(`${pluralize(recreatedRows, 'row')} ${were(recreatedRows)} not in the trash any more and ${were(recreatedRows)} added again at the end of the table.`);
  if (unrestoredRows > 0) parts.push(notRestoredMessage(unrestoredRows));
  if (manualCells.length > 0) parts.push(`${pluralize(manualCells.length, 'value')} ${were(manualCells.length)} restored as ${manualCells.length === 1 ? 'a manual edit' : 'manual edits'}.`);
  return parts.join(' ');
}

function were(number: number): string {
  return number === 1 ? 'was' : 'were';
}
