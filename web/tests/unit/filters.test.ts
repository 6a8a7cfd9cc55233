import { expect, test } from 'vitest';
import type { Column, Filter, FilterNode, Json } from '../../src/api/types';
import { groupsFor, type Kind, kindOf } from '../../src/table/views/kinds';
import { asList, matchOf } from '../../src/table/views/match';
import { completeFilters, countFilters, operatorOf, filterProblem, valueFor } from '../../src/table/views/operators';
import { isSameState, DEFAULT_VIEW } from '../../src/table/views/viewState';

const filter = (operator: string, value?: Json): FilterNode => ({ columnId: 'a', operator, ...(value !== undefined && { value }) });

test('conditions count once they are whole, and groups once something in them is', () => {
  const whole = filter('contains', 'x');
  expect(
    completeFilters([
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
  ['between', 5, [5, null]],
  ['greaterThan', 'x', null],
  ['greaterThan', '7', 7],
  ['isWithin', 'x', { mode: 'pastDays', n: 7 }],
])('%s starts from %j with %j', (operator, before, expected) => {
  expect(valueFor(operatorOf(operator), before)).toEqual(expected);
});

test('a column said to be visible is no change', () => {
  expect(isSameState(DEFAULT_VIEW, { ...DEFAULT_VIEW, columnVisibility: { a: true } })).toBe(true);
  expect(isSameState(DEFAULT_VIEW, { ...DEFAULT_VIEW, columnVisibility: { a: false } })).toBe(false);
});

test.each<[string, Json, string | undefined]>([
  ['contains', '', 'Type a value.'],
  ['contains', 'x', undefined],
  ['matches', '^a+$', undefined],
  ['matches', '(?i)^a', undefined],
  ['matches', '(a', 'This pattern is not valid.'],
  ['matches', 'a(?=b)', 'Lookahead and lookbehind are not supported.'],
  ['greaterThan', null, 'Type a number.'],
  ['greaterThan', 0, undefined],
  ['between', [1, null], 'Type both numbers.'],
  ['between', [0, 0], undefined],
  ['in', [], 'Type a value, then Enter.'],
])('%s with %j lacks: %s', (operator, value, lacks) => {
  expect(filterProblem(filter(operator, value) as Filter)).toBe(lacks);
});

test.each<[Kind, Json[]]>([
  ['number', [1, '2.5', null]],
  ['text', [1, 'x']],
  ['text', []],
  ['date', ['2026-01-02', '2026-01-02T10:00:00Z']],
  ['boolean', [true, null]],
  ['list', [['a'], []]],
  ['json', [{ a: 1 }]],
])('a column is %s by %j', (kind, values) => {
  expect(kindOf(values)).toBe(kind);
});

test('comparisons that make sense come first, and none is left out', () => {
  const names = (column: Partial<Column>) => groupsFor('number', column as Column).likely.map(({ group }) => group);
  expect(names({ type: 'manual' })).toEqual(['Numbers', 'Any value']);
  expect(names({ type: 'ai' })).toEqual(['Numbers', 'Any value', 'Cell status']);
  const { likely, others } = groupsFor('text', undefined);
  expect([...likely, ...others].flatMap(({ items }) => items)).toHaveLength(33);
});

test('a list matches all, or is one group', () => {
  const [a, b] = [filter('isTrue'), filter('isFalse')];
  expect(asList('and', [a, b])).toEqual([a, b]);
  expect(asList('or', [a, b])).toEqual([{ conjunction: 'or', filters: [a, b] }]);
  expect(asList('or', [])).toEqual([]);
  for (const conjunction of ['and', 'or', 'not'] as const) {
    for (const list of [[a, b], [{ conjunction: 'or' as const, filters: [a] }]]) {
      expect(matchOf(asList(conjunction, list))).toMatchObject({ conjunction, filters: list });
    }
  }
});
