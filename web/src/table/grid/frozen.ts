import type { Column, Row } from '../../api/types';

/** Until somebody says otherwise the first column stays that holds something. */
export const FIRST_COLUMN = 'first';
const ROWS_LOOKED_AT = 20;

/** How many columns stay when the others are scrolled: up to the one that is named, or none. */
export function countFrozen(
  columnId: string | null,
  shown: readonly Pick<Column, 'id'>[],
  rowAt: (index: number) => Row | undefined,
): number {
  if (columnId === null) return 0;
  const index = shown.findIndex(({ id }) => id === columnId);
  const first = isUnusedInput(shown[0]?.id, rowAt) ? 1 : 0;
  return Math.min((index >= 0 ? index : first) + 1, shown.length);
}

/** Every table begins with the column for input, and many never use it. */
function isUnusedInput(columnId: string | undefined, rowAt: (index: number) => Row | undefined): boolean {
  const rows = Array.from({ length: ROWS_LOOKED_AT }, (_, index) => rowAt(index)).filter((row) => row !== undefined);
  return columnId === '_trigger' && rows.length > 0 && rows.every((row) => (row.cells._trigger?.value ?? null) === null);
}

/** Columns that take more than this part of the screen do not stay: too little would be left to scroll. */
const SCREEN_PART_MAX = 0.6;

export function fitFrozen(count: number, widths: readonly number[], screenWidth: number): number {
  const used = widths.slice(0, count).reduce((sum, width) => sum + width, 0);
  return used <= screenWidth * SCREEN_PART_MAX ? count : 0;
}
