import { expect, test } from 'vitest';
import type { Json } from '../../src/api/types';
import { countFrozen, FIRST_COLUMN, fitFrozen } from '../../src/table/grid/frozen';

const shown = [{ id: '_trigger' }, { id: 'b' }, { id: 'c' }];

function check(columnId: string | null, input: Json, expected: number, columns = shown) {
  const row = { id: 'r', cells: { _trigger: { value: input, status: 'idle' as const } } };
  expect(countFrozen(columnId, columns, (index) => (index === 0 ? row : undefined))).toBe(expected);
}

test('the first column that holds something stays, unless somebody says otherwise', () => {
  check(FIRST_COLUMN, 'x', 1);
  check(FIRST_COLUMN, null, 2);
  check(FIRST_COLUMN, null, 1, shown.slice(1));
  check('c', null, 3);
  check(null, 'x', 0);
  check('gone', 'x', 1);
  check(FIRST_COLUMN, 'x', 0, []);
});

test('something is left to scroll', () => {
  expect([fitFrozen(2, [200, 200, 200], 1000), fitFrozen(2, [300, 400], 1000), fitFrozen(2, [190, 190], 390)]).toEqual([2, 0, 0]);
});
