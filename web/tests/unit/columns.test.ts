import { expect, test } from 'vitest';
import type { Column } from '../../src/api/types';
import { type Segment, writePath } from '../../src/table/cell/jsonPath';
import { changedSince } from '../../src/table/columns/draft';
import { layout } from '../../src/table/columns/graph';
import { fieldsOf, schemaOf } from '../../src/table/columns/schemaFields';
import { referenceLabel, referredColumns, tokenize } from '../../src/table/template/tokens';

const columns = [
  { id: 'col_a', header: 'Company' },
  { id: 'col_b', header: 'City' },
] as Column[];

test('what was typed while it was being saved stays', () => {
  const sent = { header: 'One', maxAttempts: 2 };
  expect(changedSince(sent, { ...sent, header: 'One more', cacheTtlSeconds: 5 })).toEqual({ header: 'One more', cacheTtlSeconds: 5 });
  expect(changedSince(sent, sent)).toEqual({});
});

test('a template is text and references', () => {
  expect(tokenize('Hi @{col_a.name}, @ home @{x')).toEqual([{ text: 'Hi ' }, { reference: 'col_a.name' }, { text: ', @ home @{x' }]);
});

test.each<[string, string | undefined]>([
  ['col_a', 'Company'],
  ['col_a.items[0]', 'Company › items[0]'],
  ['city', 'City'],
  ['secret.TOKEN', 'secret TOKEN'],
  ['col_zz', undefined],
])('the reference %s is called %s', (reference, label) => {
  expect(referenceLabel(reference, columns)).toBe(label);
});

test('references are found anywhere in a configuration', () => {
  expect(referredColumns({ headers: { x: 'a @{col_b.x}' } }, columns)).toEqual(['col_b']);
});

test.each<[Segment[], string]>([
  [['company', 'name'], 'company.name'],
  [['items', 0, 'name'], 'items[0].name'],
  [[0, 'x'], '[0].x'],
  [['a b', 0], "$['a b'][0]"],
  [["it's"], "$['it\\'s']"],
])('the path to %j is %s', (segments, path) => {
  expect(writePath(segments)).toBe(path);
});

test('a graph shows what leads to a column and away from it, in levels', () => {
  const node = (id: string, needs: string[]) => ({ id, header: id, needs });
  const nodes = [node('a', []), node('b', ['a']), node('c', ['a', 'b']), node('d', ['c']), node('apart', ['a'])];
  expect(layout(nodes, 'c').map(({ id, level }) => `${id}${level}`)).toEqual(['a0', 'b1', 'c2', 'd3']);
});

test('a schema made from fields reads back as them; one that says more does not', () => {
  const fields = [
    { name: 'score', type: 'number' as const, description: 'from 1 to 10' },
    { name: 'tags', type: 'array' as const, description: '' },
  ];
  expect(fieldsOf(schemaOf(fields))).toEqual(fields);
  expect(fieldsOf({ type: 'object', properties: { a: { type: 'string', enum: ['x'] } } })).toBeUndefined();
});
