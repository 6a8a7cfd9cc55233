import type { Column, Row } from '../../api/types';
import { isUnusedInput } from '../model/inputColumn';

/** Default setting: freeze up to the first column that has values. */
export const FIRST_COLUMN = 'first';

/** The number of frozen columns: up to the given one, or none. */
export function countFrozen(
  columnId: string | null,
  shown: readonly Pick<Column, 'id'>[],
  rowAt: (index: number) => Row | undefined,
): number {
  if (columnId === null) return 0;
  const index = shown.findIndex(({ id }) => id === columnId);
  const first = rowAt(0) && isUnusedInput(shown[0]?.id, rowAt) ? 1 : 0;
  return Math.min((index >= 0 ? index : first) + 1, shown.length);
}

/** Frozen columns may take at most this share of the screen, to leave room to scroll. */
const SCREEN_PART_MAX = 0.6;

export function fitFrozen(count: number, widths: readonly number[], screenWidth: number): number {
  const used = widths.slice(0, count).reduce((sum, width) => sum + width, 0);
  return used <= screenWidth * SCREEN_PART_MAX ? count : 0;
}
