import { expect, test } from 'vitest';
import type { FilterNode, Status } from '../../src/api/types';
import { headerParts, type HeaderState, partAt, titleEnd } from '../../src/table/grid/headerParts';
import { countsText } from '../../src/table/runs/countsText';
import { ColumnMeter } from '../../src/table/runs/columnProgress';
import { nextSorting, toggleCount } from '../../src/table/views/headerFilters';

const counts = { done: 128, failed: 3, stale: 5 };

test.each<[string, HeaderState, number, string]>([
  ['Name', {}, 190, ''],
  ['Name', { sort: 'asc' }, 190, 'sort'],
  ['Found', { counts: { done: 0, failed: 0, stale: 0 } }, 190, 'run'],
  ['Found', { counts }, 220, 'run done:128 stale:5 failed:3'],
  ['Found', { counts }, 190, 'run stale:5 failed:3'],
  ['Found', { counts, sort: 'desc' }, 230, 'run sort done:128 stale:5 failed:3'],
  ['Found', { counts: { done: 12_345, failed: 0, stale: 0 } }, 190, 'run done:12.3K'],
  ['Found', { counts, progress: 0.429 }, 220, 'run progress:42% stale:5 failed:3'],
  ['Found', { counts, progress: 0.429 }, 190, 'run progress:42% failed:3'],
  ['Found', { counts: { done: 12, failed: 0, stale: 0 }, cost: { usd: 0.254 } }, 220, 'run cost:$0.25 done:12'],
  ['Found', { counts: { done: 12, failed: 0, stale: 0 }, cost: { usd: 1234 } }, 190, 'run cost:$1.23K'],
  ['Found', { counts: { done: 0, failed: 0, stale: 0 }, cost: { usd: 0.001, credits: 2 } }, 190, 'run cost:<$0.01'],
  ['Found', { counts: { done: 0, failed: 0, stale: 0 }, cost: { credits: 40 } }, 190, 'run cost:40 cr'],
  ['Found', { counts, progress: 0.429, cost: { usd: 12.4 } }, 260, 'run cost:$12 progress:42% stale:5 failed:3'],
  ['A long title of a column', { counts }, 190, 'run stale:5 failed:3'],
  ['A long title of a column', { counts }, 165, 'run failed:3'],
  ['A long title of a column', { counts }, 90, 'run'],
])('the header “%s” with %j in %d pixels has: %s', (title, state, width, expected) => {
  const parts = headerParts(title, state, width);
  expect(parts.map(({ kind, label }) => (label ? `${kind}:${label}` : kind)).join(' ')).toBe(expected);
  // No part lies over another, over the title or under the menu.
  const right = parts.filter(({ kind }) => kind !== 'run');
  right.forEach((part, place) => expect(part.x + part.width).toBeLessThanOrEqual(right[place + 1]?.x ?? width - 30));
  expect(titleEnd(parts, width, true)).toBeGreaterThan(34);
});

test('a click finds the part under it', () => {
  const parts = headerParts('Found', { counts }, 190);
  const failed = parts.at(-1);
  expect(partAt(parts, (failed?.x ?? 0) + 3)?.kind).toBe('failed');
  expect(partAt(parts, 10)?.kind).toBe('run');
  expect(partAt(parts, 60)).toBeUndefined();
  expect(partAt(parts, 185)).toBeUndefined();
});

test('a count filters, another count replaces it, and the same count shows all again', () => {
  const own: FilterNode = { columnId: 'b', operator: 'contains', value: 'x' };
  const failed = toggleCount([own], 'a', 'failed');
  expect(failed).toEqual([own, { columnId: 'a', operator: 'statusIs', value: 'error' }]);
  const stale = toggleCount(failed, 'a', 'stale');
  expect(stale).toEqual([own, { columnId: 'a', operator: 'isStale' }]);
  expect(toggleCount(stale, 'a', 'stale')).toEqual([own]);
  expect(toggleCount(failed, 'b', 'failed')).toHaveLength(3);
});

test('the sort arrow turns, then goes', () => {
  const other = { columnId: 'b', direction: 'asc' as const };
  const turned = nextSorting([{ columnId: 'a', direction: 'asc' }, other], 'a');
  expect(turned).toEqual([{ columnId: 'a', direction: 'desc' }, other]);
  expect(nextSorting(turned, 'a')).toEqual([other]);
});

const column = (parts: Partial<Status['columns'][string]>) => ({
  ...{ header: 'A', type: 'ai' as const, idle: 0, queued: 0, generating: 0, complete: 0, error: 0, skipped: 0, stale: 0 },
  ...parts,
});

test('progress counts from the most cells that were pending', () => {
  const meter = new ColumnMeter();
  const read = (queued: number) => meter.read({ columns: { a: column({ queued }) } } as unknown as Status).get('a');
  expect([0, 100, 75, 25, 0, 10, 20, 5].map(read)).toEqual([undefined, 0, 0.25, 0.75, undefined, 0, 0, 0.75]);
});

test('counts in words', () => {
  expect(countsText(column({ complete: 1280, error: 3, stale: 5, idle: 7 }))).toBe('1,280 done, 3 failed, 5 out of date, 7 not run');
  expect(countsText(column({}))).toBe('No cells yet');
});
