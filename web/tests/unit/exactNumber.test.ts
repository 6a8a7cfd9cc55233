import { expect, test } from 'vitest';
import { ExactNumber, isExactNumber, isNumber, parseJson, readNumber, stringifyJson } from '../../src/api/exactNumber';

/** The page's sources by path. */
const SOURCES = import.meta.glob<string>(['../../src/**/*.{ts,tsx}'], { query: '?raw', import: 'default', eager: true });

test.each([
  '9007199254740993',
  '-9007199254740993',
  '12345678901234567890123',
  '9007199254740993.0',
  '0.12345678901234567890123',
  '1e400',
  '-1.5E+400',
  '1e-400',
  '1e99999999999999999999',
  '[1,9007199254740993,"9007199254740993"]',
  '{"a":{"b":[1e400,null,true]},"9007199254740993":9007199254740993}',
  '{"quote\\" : 9007199254740993":"\\\\","n":9007199254740993}',
])('%s is written as it was read', (text) => {
  expect(stringifyJson(parseJson(text))).toBe(text);
  expect(stringifyJson(parseJson(`\n ${text} `))).toBe(text);
});

test.each<[string, unknown]>([
  ['9007199254740992', 9007199254740992],
  ['12345678901234567000', 12345678901234567000],
  ['100000000000000000000000', 1e23],
  ['1.0', 1],
  ['1e3', 1000],
  ['1.50000000000000000000', 1.5],
  ['0.30000000000000004', 0.30000000000000004],
  ['1.7976931348623157e308', 1.7976931348623157e308],
  ['0e999', 0],
  ['"9007199254740993"', '9007199254740993'],
  ['["exact number 9007199254740993"]', ['exact number 9007199254740993']],
])('%s is what JSON.parse reads', (text, expected) => {
  expect(parseJson(text)).toStrictEqual(expected);
});

test.each(['{9007199254740993: 1}', '09007199254740993', '9007199254740993.', '9007199254740993 1', '[9007199254740993', ''])('%j is no JSON', (text) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
});

test('JSON is written like JSON.stringify does', () => {
  const value = { a: [1, new ExactNumber('1e400')], b: undefined };
  expect(stringifyJson(value, 2)).toBe('{\n  "a": [\n    1,\n    1e400\n  ]\n}');
  expect(stringifyJson(undefined)).toBe(undefined);
});

test('an exact number is a text where a text is wanted, and tells its size', () => {
  const number = new ExactNumber('9007199254740993');
  expect([`${number}`, String(number), Number(number)]).toEqual(['9007199254740993', '9007199254740993', 9007199254740992]);
  expect([isExactNumber(number), isNumber(number), isNumber(5), isNumber('5'), isExactNumber({ text: '5' })]).toEqual([true, true, true, false, false]);
});

test.each<[string, string | undefined]>([
  ['9007199254740993', '9007199254740993'],
  [' +9007199254740993 ', '9007199254740993'],
  ['009007199254740993', '9007199254740993'],
  ['-.12345678901234567890123', '-0.12345678901234567890123'],
  ['1e400', '1e400'],
  ['007', '7'],
  ['1.', '1'],
  ['.5', '0.5'],
  ['0x10', '16'],
  ['0x20000000000001', undefined],
  ['Infinity', undefined],
  ['1,200', undefined],
  ['-', undefined],
  ['.', undefined],
  ['e5', undefined],
  [' ', undefined],
])('%j is the number %s', (text, expected) => {
  const number = readNumber(text);
  expect(number === undefined ? undefined : String(number)).toBe(expected);
});

test('a long number is read in time that grows with its length', () => {
  const long = `1${'0'.repeat(200_000)}1`;
  expect(stringifyJson(parseJson(`[${long},"${'\\"'.repeat(100_000)}"]`)).startsWith(`[${long},`)).toBe(true);
}, 2_000);

test('no other file reads or writes JSON itself', () => {
  const others = Object.entries(SOURCES).filter(([path, text]) => !path.endsWith('/api/exactNumber.ts') && /\bJSON\.(parse|stringify)\b|\.json\(\)|responseType = 'json'/.test(text));
  expect(others.map(([path]) => path)).toEqual([]);
});
