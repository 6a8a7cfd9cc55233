import { expect, test } from 'vitest';
import type { ColumnSummary, Format } from '../../src/api/types';
import { foundText } from '../../src/table/find/foundText';
import { type SummaryKind, summaryKinds } from '../../src/table/model/summaryKinds';
import { summaryText } from '../../src/table/summaries/summaryText';

const SUMMARY: ColumnSummary = {
  columnId: 'a',
  filled: 1200,
  empty: 34,
  unique: 5,
  numbers: 3,
  sum: 0.30000000000000004,
  average: 2.6666666666,
  min: -1,
  max: 1234.5,
  earliest: '2024-01-31',
  latest: null,
};

test.each<[SummaryKind, Format | undefined, string]>([
  ['count', undefined, '1,234'],
  ['filled', undefined, '1,200'],
  ['empty', undefined, '34'],
  ['unique', undefined, '5'],
  ['sum', undefined, '0.3'],
  ['average', undefined, '2.67'],
  ['max', { type: 'currency', currency: 'USD' }, '$1,234.50'],
  ['average', { type: 'rating' }, '2.67'],
  ['min', { type: 'percent' }, '-1 %'],
  ['earliest', { type: 'date', dateStyle: 'iso' }, '2024-01-31'],
  ['latest', { type: 'date' }, '–'],
])('%s of %j is %s', (kind, format, expected) => {
  expect(summaryText(kind, SUMMARY, 1234, format)).toBe(expected);
});

test.each<[number, string]>([
  [1234567890123, '1,234,567,890,123'],
  [9007199254740991, '9,007,199,254,740,991'],
  [9007199254740992, '≈ 9,007,199,254,740,992'],
  [-1e20, '≈ -100,000,000,000,000,000,000'],
])('a figure of %d is %s', (max, expected) => {
  expect(summaryText('max', { ...SUMMARY, max }, 1)).toBe(expected);
});

test('too many different values to count', () => {
  expect(summaryText('unique', { ...SUMMARY, unique: null }, 1)).toBe('over 1,000,000');
});

test('only what makes sense is offered', () => {
  expect(summaryKinds({ type: 'email' })).toEqual(['count', 'filled', 'empty', 'unique']);
  expect(summaryKinds({ type: 'date' })).toContain('latest');
  expect(summaryKinds(undefined)).toContain('sum');
});

test.each([
  [undefined, ''],
  [{ total: 0, isComplete: true, cell: null }, 'No matches'],
  [{ total: 41, isComplete: true, cell: { number: 3 } }, '3 of 41'],
  [{ total: 1048576, isComplete: false, cell: { number: 1200 } }, '1,200 of 1,048,576+'],
])('%j reads %s', (found, expected) => {
  expect(foundText(found)).toBe(expected);
});
