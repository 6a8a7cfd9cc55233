import type { TriggerBody } from '../../api/types';
import { counted } from '../../ui/format';
import { tell } from '../../ui/notify';
import { tellAction } from '../../ui/tellAction';
import type { Undone } from './editor';

/** Says what an undo could not bring back as it was. */
export function tellUndone(undone: Undone, run: (body: TriggerBody) => Promise<void>): void {
  const message = wordsOf(undone);
  if (!message) return;
  const { byHand } = undone;
  if (byHand.length === 0) return tell(message);
  const rowIds = [...new Set(byHand.map(({ rowId }) => rowId))];
  const columnIds = [...new Set(byHand.map(({ columnId }) => columnId))];
  tellAction(message, 'Run again', () => void run({ rowIds, columnIds, force: true }));
}

export function wordsOf({ skippedCells, keptRows, keptColumns, restoredRows, byHand }: Undone): string {
  const parts: string[] = [];
  if (skippedCells > 0) parts.push(`${counted(skippedCells, 'cell')} ${were(skippedCells)} left alone: changed by somebody else since, or deleted.`);
  if (keptRows > 0) parts.push(`${counted(keptRows, 'row')} ${were(keptRows)} kept: changed by somebody else since.`);
  if (keptColumns > 0) parts.push(`The ${counted(keptColumns, 'column')} made for it stay${keptColumns === 1 ? 's' : ''}. Delete what you do not need by the header’s menu.`);
  if (restoredRows > 0) parts.push(`${counted(restoredRows, 'row')} ${are(restoredRows)} back, at the end of the table.`);
  if (byHand.length > 0) parts.push(`${counted(byHand.length, 'value')} ${are(byHand.length)} back, and ${byHand.length === 1 ? 'counts' : 'count'} as written by hand.`);
  return parts.join(' ');
}

function were(number: number): string {
  return number === 1 ? 'was' : 'were';
}

function are(number: number): string {
  return number === 1 ? 'is' : 'are';
}
