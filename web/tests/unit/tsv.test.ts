import { expect, test } from 'vitest';
import { formatTsv, parseTsv } from '../../src/table/rows/tsv';

test.each<[string, string[][]]>([
  ['one', [['one']]],
  ['a\tb\nc\td', [['a', 'b'], ['c', 'd']]],
  ['a\tb\r\nc\td\r\n', [['a', 'b'], ['c', 'd']]],
  ['a\t\tb', [['a', '', 'b']]],
  ['"two\nlines"\tx', [['two\nlines', 'x']]],
  ['"say ""hi"""', [['say "hi"']]],
  ['5" pipe\tx', [['5" pipe', 'x']]],
  ['"a" b\tx', [['"a" b', 'x']]],
  ['"never closed\tx', [['"never closed', 'x']]],
  ['a\n\nb', [['a'], [''], ['b']]],
])('a clipboard reads as cells: %j', (text, cells) => {
  expect(parseTsv(text)).toEqual(cells);
});

test('what is copied reads back the same', () => {
  const cells = [['plain', 'tab\there', 'line\nbreak'], ['"quoted"', '', '5"']];
  expect(parseTsv(formatTsv(cells))).toEqual(cells);
});
