import type { Anchors } from '../grid/selectionAnchors';

/** Rows of a list by place, the end not included. */
export type RowRange = readonly [number, number];

/**
 * The rows at these places, if they are those that were ticked there. Of a long run people saw where it begins and ends:
 * if both are where they were, and as many rows lie between them, those are the rows between them.
 */
export function verifyRows([first, end]: RowRange, found: string[], { ids }: Pick<Anchors, 'ids'>): string[] {
  const isAt = (index: number) => ids.get(index) !== undefined && ids.get(index) === found[index - first];
  const isWhole = found.length === end - first && new Set(found).size === found.length;
  const hasMoved = found.some((id, place) => ids.get(first + place) !== undefined && ids.get(first + place) !== id);
  if (isWhole && !hasMoved && isAt(first) && isAt(end - 1)) return found;
  throw new Error('Rows have moved since you selected them, so nothing was done. Select them again.');
}
