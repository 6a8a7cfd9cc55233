import { expect, test } from 'vitest';
import { parseJson, stringifyJson } from '../../src/api/exactNumber';
import type { Cell, Column, Format, Json } from '../../src/api/types';
import { partsOf } from '../../src/table/cell/jsonPath';
import { missingPart } from '../../src/table/cell/missingPart';
import { needsPeek } from '../../src/table/cell/ValuePeek';
import { toChange } from '../../src/table/columns/changeBody';
import { newDraft } from '../../src/table/columns/draft';
import { itemsAt } from '../../src/table/columns/fanOut';
import { guessStyle, PLAIN } from '../../src/table/display/columnStyle';
import { displayOf } from '../../src/table/display/display';
import { imageIn } from '../../src/table/display/image';
import { valueIcon } from '../../src/table/display/valueIcon';
import { parseFor } from '../../src/table/formats/parseTyped';
import { cellContent } from '../../src/table/grid/cellContent';
import { groupFilter, isGroupShown, toggleGroup } from '../../src/table/groups/groupFilters';
import { isJson, parseTyped, toPretty, toText } from '../../src/table/model/values';
import { recipeOf } from '../../src/table/recipes/recipe';
import { formatTsv } from '../../src/table/rows/tsv';
import { queryParams } from '../../src/table/rows/rowQuery';
import { isSame, unchangedSince } from '../../src/table/rows/undo';
import { readPreview } from '../../src/table/transfer/preview';
import { kindOf } from '../../src/table/views/kinds';
import { numberShown, numberTyped } from '../../src/table/views/numberField';
import { completeFilters, operatorOf, valueFor } from '../../src/table/views/operators';
import { readAddress, writeAddress } from '../../src/table/views/tableAddress';

/** A value as it comes from the service. */
const json = (text: string) => parseJson(text) as Json;
const LARGE = '9007199254740993';
const large = () => json(LARGE);

test.each<[string, Partial<typeof PLAIN>, string]>([
  [LARGE, {}, 'number 9,007,199,254,740,993'],
  ['-9007199254740993', {}, 'number -9,007,199,254,740,993'],
  ['9007199254740992', {}, 'number 9,007,199,254,740,992'],
  ['9007199254740993.25', {}, 'number 9,007,199,254,740,993.25'],
  [LARGE, { isGrouped: false }, 'number 9007199254740993'],
  ['0.12345678901234567890123', {}, 'number 0.12345678901234567890123'],
  ['1e400', {}, 'number 1e400'],
  [`"${LARGE}"`, { kind: 'number' }, 'number 9,007,199,254,740,993'],
  [`"${LARGE}"`, {}, 'text 9007199254740993'],
  [LARGE, { format: { type: 'number' } }, 'number 9,007,199,254,740,993'],
  ['0.12345678901234567891', { format: { type: 'number' } }, 'number 0.12345678901234567891'],
  ['9007199254740993.256', { format: { type: 'number', decimals: 2 } }, 'number 9,007,199,254,740,993.26'],
  [LARGE, { format: { type: 'currency', currency: 'EUR' } }, 'number €9,007,199,254,740,993.00'],
  ['"$9,007,199,254,740,993.25"', { format: { type: 'currency' } }, 'number $9,007,199,254,740,993.25'],
  [LARGE, { format: { type: 'percent' } }, 'number 9,007,199,254,740,993 %'],
  ['1.2345678901234567890e30', { format: { type: 'number' } }, 'number 1.2345678901234567890e30'],
  ['1e400', { format: { type: 'number' } }, 'text 1e400'],
  ['4.00000000000000000001', { format: { type: 'rating' } }, 'rating 4 of 5'],
  [LARGE, { format: { type: 'select' } }, 'chips 9007199254740993'],
  [LARGE, { format: { type: 'text' } }, 'text 9007199254740993'],
  [LARGE, { format: { type: 'date' } }, 'text 9007199254740993'],
  [LARGE, { format: { type: 'json' } }, 'number 9,007,199,254,740,993'],
  [`{"id":${LARGE}}`, {}, 'fields 9007199254740993'],
  [`{"a":${LARGE},"b":1}`, {}, 'fields a 9007199254740993 · b 1'],
  [`[${LARGE}]`, {}, 'chips 9007199254740993'],
  [`"{\\"id\\":${LARGE}}"`, {}, 'fields 9007199254740993'],
])('%s with %j is shown as %s', (text, style, expected) => {
  const { kind, text: shown } = displayOf(json(text), { ...PLAIN, ...style });
  expect(`${kind} ${shown}`).toBe(expected);
});

test('a cell is copied, edited and read aloud with all digits', () => {
  const value = large();
  expect([toText(value), toPretty(value), isJson(value)]).toEqual([LARGE, LARGE, false]);
  expect(toPretty(json(`{"a":${LARGE}}`))).toBe(`{\n  "a": ${LARGE}\n}`);
  expect(formatTsv([[toText(value), toText(json('[1e400]'))]])).toBe(`${LARGE}\t[1e400]`);
  const content = cellContent({ id: 'a', type: 'manual', header: 'A' } as Column, { value, status: 'idle' });
  expect([content.data.text, content.copyData]).toEqual([LARGE, '9,007,199,254,740,993']);
  expect([partsOf(value), imageIn('Logo', value), needsPeek(value, 300, 1)]).toEqual([[], undefined, false]);
});

test.each<[string, string, string]>([
  ['9007199254740995', '5', '9007199254740995'],
  ['9007199254740995', LARGE, '9007199254740995'],
  ['0.12345678901234567890123', '5', '0.12345678901234567890123'],
  ['1e400', '5', '1e400'],
  ['7', LARGE, '7'],
  ['seven', LARGE, '"seven"'],
  ['', LARGE, 'null'],
  ['{"id": 9007199254740995}', '{"id":1}', '{"id":9007199254740995}'],
  ['9007199254740995', '"text"', '"9007199254740995"'],
])('%j typed over %s is stored as %s', (text, before, expected) => {
  expect(stringifyJson(parseTyped(text, json(before)))).toBe(expected);
});

test.each<[string, Format, string]>([
  ['9007199254740995', { type: 'number' }, '9007199254740995'],
  ['9007199254740995.5', { type: 'currency' }, '9007199254740995.5'],
  ['+9007199254740995', { type: 'number' }, '"+9007199254740995"'],
  ['{"id": 9007199254740995}', { type: 'json' }, '{"id":9007199254740995}'],
  ['9007199254740995', { type: 'text' }, '"9007199254740995"'],
])('%j typed into a column of %j is stored as %s', (text, format, expected) => {
  expect(stringifyJson(parseFor(text, null, format))).toBe(expected);
});

test('neighbours that are one double are different values, and read twice they are the same', () => {
  expect([isSame(large(), large()), isSame(large(), json('9007199254740992')), isSame(large(), LARGE)]).toEqual([true, false, false]);
  const cell: Cell = { value: large(), status: 'idle' };
  const rows = new Map([['1', { id: '1', cells: { a: cell } }]]);
  const columns = [{ id: 'a', type: 'manual' }] as Column[];
  const edit = { rowId: '1', columnId: 'a', before: json('9007199254740992'), after: large() };
  expect([unchangedSince([edit], 'after', rows, columns), unchangedSince([edit], 'before', rows, columns)]).toEqual([[edit], []]);
});

test('columns of exact numbers are columns of numbers', () => {
  const values = [large(), 5, json('1e400')];
  const style = guessStyle({ header: 'Amount' } as Column, values);
  expect([kindOf(values), kindOf([large(), 'x']), kindOf([large(), {}]), style.kind, valueIcon(style, values)]).toEqual(['number', 'text', 'text', 'number', 'hash']);
});

test('an exact number is no object: it has no parts and is copied as a whole', () => {
  expect(missingPart(large(), 'a')).toBe('Nothing found at a: the source cell is plain number, which has no parts.');
  expect(itemsAt(large(), '')).toBe(undefined);
  const body = json(`{"id":${LARGE}}`);
  const [column] = recipeOf('R', [{ id: 'a', header: 'A', type: 'api', apiConfig: { url: 'x', body } } as unknown as Column]).columns;
  expect(stringifyJson(column?.apiConfig)).toContain(`"body":{"id":${LARGE}}`);
  const asking = (text: string) => {
    const draft = newDraft('http-api', 'Answer', []);
    return { ...draft, apiConfig: { ...draft.apiConfig!, body: json(text) } };
  };
  expect(stringifyJson(toChange(asking('{"id":9007199254740995}'), asking(`{"id":${LARGE}}`)).apiConfig?.body)).toBe('{"id":9007199254740995}');
});

test('a filter compares with the number that was typed, and the address keeps it', () => {
  const value = numberTyped(LARGE);
  const filters = completeFilters([{ columnId: 'a', operator: 'greaterThan', value }]);
  const expected = `[{"columnId":"a","operator":"greaterThan","value":${LARGE}}]`;
  expect(queryParams({ filters, sorting: [], search: '' }).filters).toBe(expected);
  const address = writeAddress('', { filters, sorting: undefined, search: undefined });
  expect(stringifyJson(readAddress(address).filters)).toBe(expected);
  expect(valueFor(operatorOf('lessThan'), value)).toBe(value);
  expect(stringifyJson(valueFor(operatorOf('lessThan'), LARGE))).toBe(LARGE);
});

test('a field for numbers shows what was typed', () => {
  expect([numberShown(numberTyped(LARGE)), numberShown(LARGE), numberShown(5), numberShown('2024-01-31'), numberShown(null)]).toEqual([LARGE, LARGE, 5, '', '']);
  expect([numberTyped(''), numberTyped(5), numberTyped('1.50'), numberTyped('-'), numberShown('-')]).toEqual([null, 5, 1.5, '-', '-']);
  expect(completeFilters([{ columnId: 'a', operator: 'greaterThan', value: '-' }])).toEqual([]);
});

test('a group is found by its exact value', () => {
  const filters = toggleGroup([], groupFilter('a', large()));
  expect([isGroupShown(filters, groupFilter('a', large())), isGroupShown(filters, groupFilter('a', json('9007199254740992')))]).toEqual([true, false]);
});

test('an import is previewed as it is', async () => {
  const { rows } = await readPreview(new File([`{"id":${LARGE},"data":{"n":1e400}}\n${LARGE}\n`], 'a.jsonl'));
  expect(rows).toEqual([['id', 'data'], [LARGE, '{"n":1e400}']]);
});
