import type { Anchors } from '../grid/selectionAnchors';

/** A range of row indices; the end is exclusive. */
export type RowRange = readonly [number, number];

/**
 * Returns the ids of the rows in a range if they are still the rows that the user selected, and throws otherwise. In a
 * long range only the first and last rows are known: if both are in place and the count is right, so are the others.
 */
export function verifyRows([first, end]: RowRange, found: string[], { ids }: Pick<Anchors, 'ids'>): string[] {
  const isAt = (index: number) => ids.get(index) !== undefined && ids.get(index) === found[index - first];
  const isWhole = found.length === end - first && new Set(found).size === found.length;
  const hasMoved = found.some((id, place) => ids.get(first + place) !== undefined && ids.get(first + place) !== id);
  if (isWhole && !hasMoved && isAt(first) && isAt(end - 1)) return found;
  throw new Error('Rows have moved since you selected them, so nothing was done. Select them again.');
}
