import { expect, test } from 'vitest';
import type { Column, Json } from '../../src/api/types';
import { summarize } from '../../src/table/display/summary';
import { findList, guessMapping, itemsAt, readList, writeList } from '../../src/table/columns/fanOut';

test.each<[string, string, string]>([
  ['@{col_a}', 'col_a', ''],
  ['@{col_a.pages}', 'col_a', 'pages'],
  ['@{col_a[0].x}', 'col_a', '[0].x'],
  ['@{col_a.$.pages[*]}', 'col_a', '$.pages[*]'],
  ['', '', ''],
])('the list %s is in %s at %s', (list, columnId, path) => {
  expect(readList(list)).toEqual({ columnId, path });
  expect(writeList({ columnId, path })).toBe(list);
});

test('a list is found, and its items', () => {
  const site: Json = { url: 'x', pages: [{ url: 'a' }, { url: 'b' }] };
  expect(findList(site)).toBe('pages');
  expect(findList([1])).toBe('');
  expect(findList('text')).toBeUndefined();
  expect(itemsAt(site, 'pages')).toHaveLength(2);
  expect(itemsAt(site, '')).toEqual([site]);
  expect(itemsAt(site, 'url')).toBeUndefined();
  expect(itemsAt(site, '$.pages[*]')).toBeUndefined();
});

const column = (id: string, header: string, type = 'manual') => ({ id, header, type }) as Column;
const people = [column('_trigger', 'Input'), column('n', 'Full name'), column('e', 'Work email'), column('l', 'LinkedIn'), column('s', 'Score', 'ai')];

test('columns are filled with the fields of similar names', () => {
  const items = [{ name: 'Ada', email: 'ada@acme.test', 'linked-in': 1, linkedin: 'https://linkedin.com/in/ada' }];
  expect(guessMapping(items, people)).toEqual({ mapping: { n: '$.name', e: '$.email', l: '$.linkedin' }, matchOn: 'e' });
  expect(guessMapping([{ 'full name': 'Ada' }], people)).toEqual({ mapping: { n: "$['full name']" }, matchOn: 'n' });
  expect(guessMapping(['a.test', 'b.test'], people)).toEqual({ mapping: { n: '$' }, matchOn: 'n' });
  expect(guessMapping([], people)).toEqual({ mapping: {}, matchOn: '' });
});

test('counts are shown with their names', () => {
  expect(summarize({ created: 2, updated: 0, unchanged: 1, leftOut: 0 })).toEqual({ title: '', details: 'created 2 · updated 0 · unchanged 1 · left out 0' });
});
