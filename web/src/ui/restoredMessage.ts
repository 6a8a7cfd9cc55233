import type { Restored } from '../api/trash';
import { pluralize } from './format';

/** What was restored, and what was not. */
export function restoredMessage({ restoredRows, restoredColumns, restoredViews, notRestored }: Restored): string {
  const parts = [
    restoredRows > 0 && pluralize(restoredRows, 'row'),
    restoredColumns > 0 && pluralize(restoredColumns, 'column'),
    restoredViews > 0 && pluralize(restoredViews, 'view'),
  ].filter(Boolean);
  const restored = parts.length > 0 ? `Restored ${parts.join(', ')}.` : 'Nothing was restored.';
  if (notRestored.length === 0) return restored;
  return `${restored} ${notRestoredMessage(notRestored.length)}`;
}

/** Rows whose guests got other rows by webhook stay in the trash. */
export function notRestoredMessage(count: number): string {
  const [rows, guests] = count === 1 ? ['its guest has', 'that row'] : ['their guests have', 'those rows'];
  return `${pluralize(count, 'row')} stayed in the trash, because ${rows} another row by now. Delete ${guests} first.`;
}
