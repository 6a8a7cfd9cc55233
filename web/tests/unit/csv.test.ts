import { expect, test } from 'vitest';
import { fieldNames, formatCsv, guessDelimiter, isTooWide, parseCsv, sampleCsv } from '../../src/table/transfer/csv';
import { asUtf8, encodingOf } from '../../src/table/transfer/encoding';
import { unescapeFormula } from '../../src/table/transfer/formulas';

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

test('only cells that say something are too many', () => {
  expect(isTooWide(['a', 'b', '', ''], 2)).toBe(false);
  expect(isTooWide(['a', 'b', '', 'c'], 2)).toBe(true);
  expect(isTooWide(['a'], 2)).toBe(false);
});

test('what is written reads back the same', () => {
  const rows = [['line', 'reason'], ['3', 'says "no", twice']];
  expect(parseCsv(formatCsv(rows), ',')).toEqual(rows);
});

test('fields are named as the service names them', () => {
  expect(fieldNames([' Email ', '', 'Email', 'City'])).toEqual(['Email', 'Column 2', 'Email (2)', 'City']);
});

test.each<[string, string]>([
  ["'=1+1", '=1+1'],
  ["''=1", "'=1"],
  ["'@handle", '@handle'],
  ["'+39-02", '+39-02'],
  ["'-5", "'-5"],
  ["'+39 02 1234", "'+39 02 1234"],
  ["'-1.5e3", "'-1.5e3"],
  ["'tis", "'tis"],
  ["'", "'"],
  ['=1', '=1'],
])('%j is taken in as %j', (cell, expected) => {
  expect(unescapeFormula(cell)).toBe(expected);
});

const bytes = (...list: number[]) => new Uint8Array(list);

test.each<[string, Uint8Array, string]>([
  ['UTF-8', new TextEncoder().encode('a,é😀\n'), 'utf-8'],
  ['Latin-1', bytes(0x61, 0x2c, 0xe9, 0x0a), 'windows-1252'],
  ['UTF-16 with a mark', bytes(0xff, 0xfe, 0x61, 0, 0x2c, 0, 0xe9, 0), 'utf-16le'],
  ['UTF-16 without one', bytes(0x61, 0, 0x2c, 0, 0xe9, 0, 0x0a, 0), 'utf-16le'],
  ['big-endian UTF-16', bytes(0, 0x61, 0, 0x2c, 0, 0xe9), 'utf-16be'],
])('%s is known by its bytes', async (_, head, expected) => {
  expect(await encodingOf(new Blob([head as BlobPart]), head)).toBe(expected);
});

test('what is not UTF-8 is sent as UTF-8', async () => {
  const sent = await asUtf8(new Blob([bytes(0xff, 0xfe, 0xe9, 0, 0x0a, 0)]), 'utf-16le', new AbortController().signal);
  expect(await sent.text()).toBe('é\n');
});
