import { expect, test } from 'vitest';
import { formatCsv, guessDelimiter, parseCsv, sampleCsv } from '../../src/table/transfer/csv';

test.each<[string, string]>([
  ['a,b\n1,2', ','],
  ['a;b\n1,5;2,5', ';'],
  ['a\tb\n1\t2', '\t'],
  ['a|b\n1|2', '|'],
  ['one column', ','],
])('%j is cut by %j', (text, delimiter) => {
  expect(guessDelimiter(text)).toBe(delimiter);
});

test('quotes hold delimiters, line breaks and quotes', () => {
  expect(parseCsv('"a,b","c\nd","e""f"\r\nx,,y', ',')).toEqual([['a,b', 'c\nd', 'e"f'], ['x', '', 'y']]);
});

test('a row that may be cut off is no sample', () => {
  expect(sampleCsv('\uFEFFa,b\n1,2\n3,', 5, false).rows).toEqual([['a', 'b'], ['1', '2']]);
  expect(sampleCsv('a,b\n1,2', 5, true).rows).toEqual([['a', 'b'], ['1', '2']]);
});

test('what is written reads back the same', () => {
  const rows = [['line', 'reason'], ['3', 'says "no", twice']];
  expect(parseCsv(formatCsv(rows), ',')).toEqual(rows);
});
