import { expect, test } from 'vitest';
import { countFrozen, FIRST_COLUMN, fitFrozen } from '../../src/table/grid/frozen';

const shown = [{ id: 'a' }, { id: 'b' }, { id: 'c' }];

test('the first column stays unless somebody says otherwise', () => {
  const counts = [FIRST_COLUMN, 'b', null, 'gone'].map((columnId) => countFrozen(columnId, shown));
  expect([...counts, countFrozen(FIRST_COLUMN, [])]).toEqual([1, 2, 0, 1, 0]);
});

test('something is left to scroll', () => {
  expect([fitFrozen(2, [200, 200, 200], 1000), fitFrozen(2, [200, 400, 200], 1000), fitFrozen(1, [200], 390)]).toEqual([2, 1, 0]);
});
