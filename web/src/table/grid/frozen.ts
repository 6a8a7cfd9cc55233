import type { Column } from '../../api/types';

/** Until somebody says otherwise the first column stays, whichever it is. */
export const FIRST_COLUMN = 'first';

/** How many columns stay when the others are scrolled: up to the one that is named, or none. */
export function countFrozen(columnId: string | null, shown: readonly Pick<Column, 'id'>[]): number {
  if (columnId === null) return 0;
  const index = shown.findIndex(({ id }) => id === columnId);
  return Math.min(Math.max(index, 0) + 1, shown.length);
}

/** Columns that stay may take half of the screen, lest nothing is left to scroll. */
export function fitFrozen(count: number, widths: readonly number[], screenWidth: number): number {
  let used = 0;
  let fitting = 0;
  for (const width of widths.slice(0, count)) {
    used += width;
    if (used > screenWidth / 2) break;
    fitting += 1;
  }
  return fitting;
}
