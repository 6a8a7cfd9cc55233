import { expect, test } from 'vitest';
import type { Column } from '../../src/api/types';
import { FOLLOWS, NEW, suggested, tooWideTitle } from '../../src/table/transfer/targets';

const columns = [
  { id: 'col_a', header: 'Name', type: 'manual' },
  { id: 'col_b', header: 'Summary', type: 'ai' },
  { id: 'col_c', header: 'Size', type: 'reference' },
] as Column[];

test.each<[string, string]>([
  [' name', 'col_a'],
  ['col_a', 'col_a'],
  ['Summary', 'col_b'],
  ['size', FOLLOWS],
  ['col_c', FOLLOWS],
  ['City', NEW],
])('%j goes to %s', (name, target) => {
  expect(suggested(name, columns)).toBe(target);
});

test.each<[number, number, boolean, boolean, string]>([
  [2, 3, true, true, '2 of 2 rows will not be imported'],
  [1, 2, true, true, '1 of 1 row will not be imported'],
  [1, 3, true, false, '1 of 3 rows will not be imported'],
  [7, 1000, false, true, '7 of the first 999 rows will not be imported'],
])('%i wide of %i lines, all: %s, names: %s', (wideRows, linesLookedAt, isAllLookedAt, hasHeader, title) => {
  expect(tooWideTitle({ wideRows, linesLookedAt, isAllLookedAt }, hasHeader)).toBe(title);
});
