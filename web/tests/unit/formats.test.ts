import { expect, test } from 'vitest';
import cases from '../../../crates/model/src/format/cases.json';
import type { Format, Json } from '../../src/api/types';
import { displayOf } from '../../src/table/display/display';
import { PLAIN } from '../../src/table/display/columnStyle';
import { formatOf } from '../../src/table/formats/options';
import { parseFor } from '../../src/table/formats/parseTyped';
import { readValue } from '../../src/table/formats/reading';
import { wholeFormat } from '../../src/table/formats/wholeFormat';

interface Case {
  format: Format;
  reads?: [Json, Json][];
  fits?: Json[];
  misfits?: Json[];
  empty?: Json[];
}

// The same cases test the service.
const CASES = cases as unknown as Case[];

test.each(CASES)('$format.type reads values as the service does', ({ format, reads = [], fits = [], misfits = [], empty = [] }) => {
  const read = (value: Json) => {
    const reading = readValue(value, format);
    return reading.kind === 'fits' ? reading.value : reading.kind;
  };
  for (const [value, expected] of reads) expect([value, read(value)]).toEqual([value, expected]);
  for (const value of fits) expect([value, read(value)]).toEqual([value, value]);
  for (const value of misfits) expect([value, read(value)]).toEqual([value, 'misfit']);
  for (const value of empty) expect([value, read(value)]).toEqual([value, 'empty']);
});

test.each<[Json, Format, string]>([
  ['1,200', { type: 'number' }, 'number 1,200'],
  [1200.5, { type: 'number', decimals: 2 }, 'number 1,200.50'],
  ['$1,200', { type: 'currency' }, 'number $1,200.00'],
  ['5 €', { type: 'currency', currency: 'EUR' }, 'number €5.00'],
  ['12%', { type: 'percent' }, 'number 12 %'],
  ['31.01.2024', { type: 'date' }, 'date Jan 31, 2024'],
  ['31.01.2024', { type: 'date', dateStyle: 'iso' }, 'date 2024-01-31'],
  ['2024-01-31', { type: 'date', dateStyle: 'european' }, 'date 31/01/2024'],
  ['2024-01-31', { type: 'date', dateStyle: 'us' }, 'date 01/31/2024'],
  ['yes', { type: 'checkbox' }, 'checkbox Yes'],
  [null, { type: 'checkbox' }, 'checkbox '],
  ['new', { type: 'select', options: [{ value: 'New', color: 'red' }] }, 'chips New'],
  [['A', 'B'], { type: 'multiSelect' }, 'chips A, B'],
  ['acme.com', { type: 'url' }, 'link acme.com'],
  ['4', { type: 'rating' }, 'rating 4 of 5'],
  ['free', { type: 'number' }, 'text free !'],
  [{ a: 1 }, { type: 'text' }, 'text {"a":1} !'],
  [{ name: 'Acme' }, { type: 'json' }, 'fields Acme'],
  [null, { type: 'number' }, 'text '],
])('%j as %j shows %s', (value, format, expected) => {
  const display = displayOf(value, { ...PLAIN, format });
  expect(`${display.kind} ${display.text}${'misfit' in display && display.misfit ? ' !' : ''}`).toBe(expected);
});

test.each<[string, Format, Json]>([
  ['', { type: 'number' }, null],
  ['5', { type: 'number' }, 5],
  ['5.50', { type: 'number' }, '5.50'],
  ['$5', { type: 'currency' }, '$5'],
  ['true', { type: 'checkbox' }, true],
  ['4', { type: 'rating' }, 4],
  ['good', { type: 'rating' }, 'good'],
  ['a, b', { type: 'multiSelect' }, ['a', 'b']],
  ['["a, b","c"]', { type: 'multiSelect' }, ['a, b', 'c']],
  ['{"a": 1}', { type: 'json' }, { a: 1 }],
  ['{a}', { type: 'json' }, '{a}'],
  ['007', { type: 'text' }, '007'],
])('typing %j into %j stores %j', (text, format, expected) => {
  expect(parseFor(text, null, format)).toEqual(expected);
});

test('a select starts with the values that are there', () => {
  expect(formatOf('select', ['New', ' new', 'Won', null])).toEqual({
    type: 'select',
    options: [
      { value: 'New', color: 'teal' },
      { value: 'Won', color: 'blue' },
    ],
  });
  expect(formatOf('number', ['New'])).toEqual({ type: 'number' });
});

test('a whole format clears what it does not set', () => {
  expect(wholeFormat(null)).toBeNull();
  expect(wholeFormat({ type: 'rating', max: 3 })).toMatchObject({ type: 'rating', max: 3, currency: null, strict: false });
});
