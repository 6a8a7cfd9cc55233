import type { TriggerBody } from '../../api/types';
import { pluralize } from '../../ui/format';
import { notify } from '../../ui/notify';
import { notifyAction } from '../../ui/notifyAction';
import type { UndoResult } from './editor';

/** Says what an undo could not bring back as it was. */
export function notifyUndone(undone: UndoResult, run: (body: TriggerBody) => Promise<void>): void {
  const message = undoMessage(undone);
  if (!message) return;
  const { manualCells } = undone;
  if (manualCells.length === 0) return notify(message);
  const rowIds = [...new Set(manualCells.map(({ rowId }) => rowId))];
  const columnIds = [...new Set(manualCells.map(({ columnId }) => columnId))];
  notifyAction(message, 'Run again', () => void run({ rowIds, columnIds, force: true }));
}

export function undoMessage({ skippedCells, keptRows, keptColumns, restoredRows, manualCells }: UndoResult): string {
  const parts: string[] = [];
  if (skippedCells > 0) parts.push(`${pluralize(skippedCells, 'cell')} ${were(skippedCells)} left alone: changed by somebody else since, or deleted.`);
  if (keptRows > 0) parts.push(`${pluralize(keptRows, 'row')} ${were(keptRows)} kept: changed by somebody else since.`);
  if (keptColumns > 0) parts.push(`The ${pluralize(keptColumns, 'column')} made for it stay${keptColumns === 1 ? 's' : ''}. Delete what you do not need by the header’s menu.`);
  if (restoredRows > 0) parts.push(`${pluralize(restoredRows, 'row')} ${are(restoredRows)} back, at the end of the table.`);
  if (manualCells.length > 0) parts.push(`${pluralize(manualCells.length, 'value')} ${are(manualCells.length)} back, and ${manualCells.length === 1 ? 'counts' : 'count'} as written by hand.`);
  return parts.join(' ');
}

function were(number: number): string {
  return number === 1 ? 'was' : 'were';
}

function are(number: number): string {
  return number === 1 ? 'is' : 'are';
}
