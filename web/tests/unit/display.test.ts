import { expect, test } from 'vitest';
import type { Json } from '../../src/api/types';
import { CHIP_COLORS, choiceColors } from '../../src/table/display/chipColors';
import { guessStyle, PLAIN } from '../../src/table/display/columnStyle';
import { type Display, displayOf, drawnLine } from '../../src/table/display/display';
import { valueIcon } from '../../src/table/display/valueIcon';
import { needsPeek } from '../../src/table/cell/ValuePeek';

/** A display in short: its kind, and what is drawn. */
function short(display: Display): string {
  if (display.kind === 'fields') return `fields ${display.title} | ${display.details}`;
  if (display.kind === 'chips') return `chips ${display.chips.map(({ label, color }) => (color === undefined ? label : `${label}*`)).join(', ')}`;
  if (display.kind === 'checkbox') return `checkbox ${display.isChecked}`;
  return `${display.kind} ${drawnLine(display)}`;
}

test.each<[Json, string]>([
  ['Plain words', 'text Plain words'],
  ['', 'text '],
  [null, 'text '],
  [true, 'checkbox true'],
  ['true', 'text true'],
  [42, 'number 42'],
  [2024, 'number 2024'],
  [1234567.5, 'number 1,234,567.5'],
  ['42', 'text 42'],
  ['https://www.acme.com/', 'link acme.com'],
  ['http://acme.com/a?b=c', 'link acme.com/a?b=c'],
  ['www.acme.com', 'link acme.com'],
  ['see https://acme.com', 'text see https://acme.com'],
  ['javascript:alert(1)', 'text javascript:alert(1)'],
  ['data:image/png;base64,iVBORw0KGgo=', 'text PNG image'],
  ['ada@acme.com', 'email ada@acme.com'],
  ['ada@acme', 'text ada@acme'],
  ['2024-02-29', 'date Feb 29, 2024'],
  ['2024-02-31', 'text 2024-02-31'],
  ['2024-02', 'text 2024-02'],
  [{}, 'fields  | No fields'],
  [[], 'fields  | Empty list'],
  [{ url: 'https://acme.com', title: 'Acme', markdown: '' }, 'fields Acme | url acme.com'],
  [{ company: { name: 'Acme Ltd', employees: 12 }, foundedYear: 1999, tags: ['a', 'b'] }, 'fields Acme Ltd | founded year 1999 · 2 tags'],
  [{ data: { company: { name: 'Acme Ltd', employees: 12 } } }, 'fields Acme Ltd | employees 12'],
  [{ a: null, b: '' }, 'fields  | All fields are empty'],
  [{ isOpen: true, count: 3 }, 'fields yes | count 3'],
  [['red', 'green'], 'chips red*, green*'],
  [[{ name: 'Ada' }, { title: 'Bob' }, [1, 2]], 'chips Ada, Bob, 2 items'],
  ['{"name": "Acme", "size": 12}', 'fields Acme | size 12'],
  ['{not json}', 'text {not json}'],
])('%j is shown as “%s”', (value, expected) => {
  expect(short(displayOf(value))).toBe(expected);
});

test('no value is shown as raw JSON', () => {
  const nested = { data: { results: [{ url: 'https://a.example' }], page: { next: null } } };
  for (const value of [nested, [nested], { deep: { deeper: { deepest: { end: { name: 'x' } } } } }, [[['a']]]]) {
    expect(displayOf(value as Json).text).not.toMatch(/[{}"]/);
  }
});

test('long lists show their first items and how many follow', () => {
  const shown = displayOf(Array.from({ length: 30 }, (_, index) => `item ${index}`));
  expect(shown.kind === 'chips' && shown.chips.length).toBe(13);
  expect(shown.text).toMatch(/^item 0, .* and 18 more$/);
});

const repeat = (values: Json[], times: number) => Array.from({ length: times }, () => values).flat();

test.each<[string, Json[], string]>([
  ['Size', ['1', '20', '300'], 'number'],
  ['Size', [1, 2.5, null], 'number'],
  ['Zip', ['01067', '10115'], 'plain'],
  ['Phone', ['+4930123', '+4930124'], 'plain'],
  ['Active', ['true', 'FALSE', ''], 'checkbox'],
  ['Stage', repeat(['Open', 'Won', 'Lost'], 4), 'select'],
  ['Stage', ['Open', 'Won', 'Lost', 'Open'], 'plain'],
  ['Company', repeat(['Acme', 'Globex', 'Hooli'], 4), 'plain'],
  ['Name', Array.from({ length: 20 }, (_, index) => `Person ${index}`), 'plain'],
  ['Country', repeat(['Same'], 20), 'plain'],
  ['Notes', [], 'plain'],
])('the column “%s” with %j is shown as %s', (header, values, kind) => {
  expect(guessStyle({ header, dataShape: 'text' }, values).kind).toBe(kind);
});

test('a column decides what its single values leave open', () => {
  const style = (header: string, values: Json[]) => guessStyle({ header, dataShape: 'text' }, values);
  expect(short(displayOf('120000', style('Revenue', ['120000'])))).toBe('number 120,000');
  expect(short(displayOf(120000, style('Customer ID', [120000])))).toBe('number 120000');
  expect(short(displayOf('n/a', style('Revenue', ['120000'])))).toBe('text n/a');
  expect(short(displayOf('false', style('Active', ['true'])))).toBe('checkbox false');
  expect(short(displayOf('Won', { ...PLAIN, kind: 'select' }))).toBe('chips Won*');
});

test('choices of a column differ in colour, whatever their order', () => {
  const choices = ['Lead', 'Customer', 'Lost', 'Open', 'Won', 'Hot', 'Cold', 'Later'];
  expect(choices).toHaveLength(CHIP_COLORS);
  const colors = choiceColors(choices);
  expect(new Set(colors.values()).size).toBe(CHIP_COLORS);
  expect([...choiceColors([...choices].reverse())]).toEqual([...colors]);
  expect(choiceColors([...choices, 'One more']).size).toBe(CHIP_COLORS + 1);
  const style = guessStyle({ header: 'Stage', dataShape: 'text' }, repeat(['Lead', 'Customer', 'Lost'], 4));
  const drawn = ['Lead', 'Customer', 'Lost'].map((label) => {
    const display = displayOf(label, style);
    return display.kind === 'chips' && display.chips[0]?.color;
  });
  expect(new Set(drawn).size).toBe(3);
});

test.each<[Json[], string]>([
  [[1, 2, null], 'hash'],
  [[true, false], 'checkbox'],
  [['2024-01-01', '2024-01-02'], 'calendar'],
  [['ada@acme.com'], 'mail'],
  [['https://acme.com', ''], 'external'],
  [[{ name: 'Acme' }], 'braces'],
  [[{ name: 'Acme' }, ['a', 'b']], 'braces'],
  [[['a', 'b']], 'list'],
  [repeat(['Open', 'Won', 'Lost'], 4), 'list'],
  [['https://acme.com', 'none'], 'text'],
  [['Acme'], 'text'],
  [[null], 'text'],
])('a column with %j has the icon “%s”', (values, icon) => {
  expect(valueIcon(guessStyle({ header: 'Any', dataShape: 'text' }, values), values)).toBe(icon);
});

test.each<[Json, number, boolean]>([
  ['short', 1, false],
  ['x'.repeat(60), 1, true],
  ['x'.repeat(60), 3, false],
  ['a\nb', 1, true],
  ['a\nb', 3, false],
  [{ name: 'Acme' }, 1, true],
  [{}, 1, false],
  [['a', 'b'], 1, false],
  [null, 1, false],
])('%j in %d lines needs a peek: %s', (value, lines, expected) => {
  expect(needsPeek(value, 190, lines)).toBe(expected);
});
