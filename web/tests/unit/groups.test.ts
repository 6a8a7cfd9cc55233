import { expect, test } from 'vitest';
import type { FilterNode } from '../../src/api/types';
import { groupFilter, isGroupShown, toggleGroup, withoutGroup } from '../../src/table/groups/groupFilters';

const other: FilterNode = { columnId: 'b', operator: 'equals', value: 1 };
const contains: FilterNode = { columnId: 'a', operator: 'contains', value: 'x' };
const won = groupFilter('a', 'Won');
const empty = groupFilter('a', undefined);

test('a click shows one group, another click all rows', () => {
  const shown = toggleGroup([other, contains], won);
  expect(shown).toEqual([other, contains, { columnId: 'a', operator: 'equals', value: 'Won' }]);
  expect(isGroupShown(shown, won)).toBe(true);
  expect(isGroupShown(shown, empty)).toBe(false);
  expect(toggleGroup(shown, won)).toEqual([other, contains]);
  expect(toggleGroup(shown, empty)).toEqual([other, contains, { columnId: 'a', operator: 'isEmpty' }]);
});

test('groups are counted without the one that is shown', () => {
  expect(withoutGroup([other, won, contains], 'a')).toEqual([other, contains]);
  const nested: FilterNode = { conjunction: 'or', filters: [won, empty] };
  expect(withoutGroup([nested], 'a')).toEqual([nested]);
});
