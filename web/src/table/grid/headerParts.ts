import { formatCostShort, formatShort } from '../../ui/format';

/** What a header tells about its column besides its name. */
export interface HeaderState {
  sort?: 'asc' | 'desc' | undefined;
  /** Counts of cells; only columns that the service fills have them. */
  counts?: { done: number; failed: number; stale: number } | undefined;
  /** The share of its cells that are done while the column runs, from 0 to 1. */
  progress?: number | undefined;
  /** What the column has cost so far, if anybody was paid. */
  cost?: { usd?: number | undefined; credits?: number | undefined } | undefined;
}

export type HeaderPartKind = 'run' | 'sort' | 'cost' | 'progress' | 'done' | 'failed' | 'stale';

/** A part of a header that can be clicked, at `x` from the header's left edge. */
export interface HeaderPart {
  kind: HeaderPartKind;
  label: string;
  x: number;
  width: number;
}

/** Where the title starts, and what the menu button takes at the right. */
export const TITLE_X = 34;
export const MENU_WIDTH = 30;
const RUN_WIDTH = 30;
const SORT_WIDTH = 18;
/** Space for a mark before a number. */
const MARK_WIDTH = 14;
const DIGIT_WIDTH = 7.6;
const LETTER_WIDTHS: Readonly<Record<string, number>> = { '%': 11, '.': 4, ' ': 3.5, c: 7, r: 5, K: 8.5, M: 10 };
const GAP = 4;
/** A title keeps at least this width, or its own if it is shorter. */
const TITLE_MIN = 64;
const TITLE_LETTER_WIDTH = 9;

/** Order from left to right: what needs attention is always at the right edge. */
const ORDER: Record<HeaderPartKind, number> = { run: 0, sort: 1, cost: 2, progress: 3, done: 4, stale: 5, failed: 6 };

/**
 * The parts of a header, from left to right. Counts that leave no room for the title are left out, first those that
 * matter least. Widths are estimates: drawing and clicking must agree, and a click has no canvas to measure with.
 */
export function headerParts(title: string, { sort, counts, progress, cost }: HeaderState, width: number): HeaderPart[] {
  const run: HeaderPart[] = counts ? [{ kind: 'run', label: '', x: 2, width: RUN_WIDTH }] : [];
  const wanted: Omit<HeaderPart, 'x'>[] = [];
  if (sort) wanted.push({ kind: 'sort', label: '', width: SORT_WIDTH });
  if (counts && counts.failed > 0) wanted.push(count('failed', counts.failed));
  if (progress !== undefined) wanted.push(part('progress', `${Math.floor(progress * 100)}%`, 2));
  if (counts && counts.stale > 0) wanted.push(count('stale', counts.stale));
  const paid = cost ? formatCostShort(cost) : '';
  if (paid) wanted.push(part('cost', paid, 2));
  if (progress === undefined && counts && counts.done > 0) wanted.push(count('done', counts.done));
  const titleWidth = Math.min(title.length * TITLE_LETTER_WIDTH, TITLE_MIN);
  let room = width - TITLE_X - titleWidth - MENU_WIDTH - GAP;
  const kept = wanted.filter((each) => {
    if (each.width + GAP > room) return false;
    room -= each.width + GAP;
    return true;
  });
  let x = width - MENU_WIDTH;
  const placed = kept
    .sort((a, b) => ORDER[b.kind] - ORDER[a.kind])
    .map((each): HeaderPart => {
      x -= each.width;
      const at = { ...each, x };
      x -= GAP;
      return at;
    });
  return [...run, ...placed.reverse()];
}

/** The part at `x` from the header's left edge. */
export function partAt(parts: readonly HeaderPart[], x: number): HeaderPart | undefined {
  return parts.find((each) => x >= each.x - GAP / 2 && x < each.x + each.width + GAP / 2);
}

/** Where the title must end. */
export function titleEnd(parts: readonly HeaderPart[], width: number, hasMenu: boolean): number {
  const first = parts.find(({ kind }) => kind !== 'run');
  return first ? first.x - GAP : width - (hasMenu ? MENU_WIDTH : 8);
}

function count(kind: 'done' | 'failed' | 'stale', number: number): Omit<HeaderPart, 'x'> {
  return part(kind, formatShort(number), MARK_WIDTH);
}

function part(kind: HeaderPartKind, label: string, markWidth: number): Omit<HeaderPart, 'x'> {
  return { kind, label, width: markWidth + widthOf(label) };
}

function widthOf(label: string): number {
  return [...label].reduce((sum, letter) => sum + (LETTER_WIDTHS[letter] ?? DIGIT_WIDTH), 0);
}
