import { expect, test } from 'vitest';
import type { FilterNode, Json } from '../../src/api/types';
import { complete, countFilters, operatorOf, valueFor } from '../../src/table/views/operators';
import { isSameState, PLAIN_VIEW } from '../../src/table/views/viewState';

const filter = (operator: string, value?: Json): FilterNode => ({ columnId: 'a', operator, ...(value !== undefined && { value }) });

test('conditions count once they are whole, and groups once something in them is', () => {
  const whole = filter('contains', 'x');
  expect(
    complete([
      filter('contains', ''),
      whole,
      filter('isEmpty'),
      filter('in', []),
      { conjunction: 'or', filters: [filter('equals', '')] },
      { conjunction: 'not', filters: [{ conjunction: 'or', filters: [whole, filter('in', [])] }] },
    ]),
  ).toEqual([whole, filter('isEmpty'), { conjunction: 'not', filters: [{ conjunction: 'or', filters: [whole] }] }]);
});

test('conditions are counted in groups, too', () => {
  expect(countFilters([filter('isEmpty'), { conjunction: 'or', filters: [filter('isTrue'), filter('isFalse')] }])).toBe(3);
});

test.each<[string, Json | undefined, Json | undefined]>([
  ['isEmpty', 'x', undefined],
  ['equals', 'x', 'x'],
  ['equals', ['x'], ''],
  ['in', 'x', ['x']],
  ['between', 5, [0, 100]],
  ['isWithin', 'x', { mode: 'pastDays', n: 7 }],
])('%s starts from %j with %j', (operator, before, expected) => {
  expect(valueFor(operatorOf(operator), before)).toEqual(expected);
});

test('a column said to be visible is no change', () => {
  expect(isSameState(PLAIN_VIEW, { ...PLAIN_VIEW, columnVisibility: { a: true } })).toBe(true);
  expect(isSameState(PLAIN_VIEW, { ...PLAIN_VIEW, columnVisibility: { a: false } })).toBe(false);
});
