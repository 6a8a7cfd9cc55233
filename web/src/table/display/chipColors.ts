/** Number of chip colours. */
export const CHIP_COLORS = 8;

/** The colour of a text: the same text always has the same. */
export function colorOf(text: string): number {
  let hash = 0;
  for (const letter of text) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
  return hash % CHIP_COLORS;
}

/** A colour for each choice. They differ as long as there are enough colours. */
export function choiceColors(choices: Iterable<string>): ReadonlyMap<string, number> {
  const colors = new Map<string, number>();
  const taken = new Set<number>();
  // Sorted, so that the order of the rows does not matter.
  for (const choice of [...new Set(choices)].sort()) {
    if (taken.size === CHIP_COLORS) taken.clear();
    let color = colorOf(choice);
    while (taken.has(color)) color = (color + 1) % CHIP_COLORS;
    taken.add(color);
    colors.set(choice, color);
  }
  return colors;
}
