import type { IconName } from '../../ui/iconPaths';

/** Something the palette can do. */
export interface Command {
  /** What it does, starting with a verb: `Run column Found`. */
  label: string;
  group: string;
  icon: IconName;
  /** Other words that people type for it. */
  words?: string;
  /** Keys that do the same. */
  keys?: string;
  run: () => void;
}

/** Commands that match what was typed, best first. Commands that match equally well keep their order. */
export function searchCommands(commands: readonly Command[], typed: string): Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...commands];
  return commands
    .map((command) => ({ command, rank: rankOf(command, words) }))
    .filter(({ rank }) => rank < NO_MATCH)
    .sort((a, b) => a.rank - b.rank)
    .map(({ command }) => command);
}

const NO_MATCH = Number.POSITIVE_INFINITY;

/** The sum over the typed words: where the label starts with one, where a word of it does, anywhere in it, in its other words. */
function rankOf({ label, group, words: others = '' }: Command, words: readonly string[]): number {
  const text = label.toLowerCase();
  const more = `${others} ${group}`.toLowerCase();
  return words.reduce((sum, word) => {
    if (text.startsWith(word)) return sum;
    if (text.includes(` ${word}`) || text.includes(`“${word}`)) return sum + 1;
    if (text.includes(word)) return sum + 3;
    return more.includes(word) ? sum + 4 : NO_MATCH;
  }, 0);
}
