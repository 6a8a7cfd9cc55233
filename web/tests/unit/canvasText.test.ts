import { expect, test } from 'vitest';
import { fit, linesIn, wrap } from '../../src/table/grid/canvasText';

/** A canvas on which every letter is ten pixels wide. */
const ctx = { font: 'test', measureText: (text: string) => ({ width: text.length * 10 }) } as unknown as CanvasRenderingContext2D;

test.each<[string, number, number, string[]]>([
  ['short', 200, 1, ['short']],
  ['a line that is too long', 120, 1, ['a line that…']],
  ['two\nparagraphs in one line', 300, 1, ['two paragraphs in one line']],
  ['words that wrap', 100, 3, ['words that', 'wrap']],
  ['words that wrap again and again', 100, 2, ['words that', 'wrap agai…']],
  ['averylongwordwithoutspaces', 100, 3, ['averylongw', 'ordwithout', 'spaces']],
  ['one\ntwo\nthree', 100, 2, ['one', 'two…']],
  ['words that wrap\ntwo\nthree', 100, 3, ['words that', 'wrap', 'two…']],
  ['one\ntwo\n', 100, 2, ['one', 'two']],
])('“%s” in %d pixels and %d lines', (text, width, lines, expected) => {
  expect(wrap(ctx, text, width, lines)).toEqual(expected);
});

test('an emoji is never cut in half', () => {
  expect(fit(ctx, 'abc😀defghijklmn', 50)).toBe('abc…');
});

test.each([
  [33, 1],
  [58, 2],
  [96, 4],
  [152, 7],
])('a row of %d pixels has %d lines', (height, lines) => {
  expect(linesIn(height)).toBe(lines);
});
