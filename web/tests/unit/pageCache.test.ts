import { expect, test } from 'vitest';
import type { Row } from '../../src/api/types';
import { PageCache } from '../../src/table/rows/pageCache';

const row = (index: number): Row => ({ id: `row_${index}`, cells: { a: { value: index, status: 'idle' } } });
const page = (number: number, size = 10) => Array.from({ length: size }, (_, offset) => row(number * 10 + offset));

function filled(pages: number[], total = 1000, pagesMax = 4): PageCache {
  const cache = new PageCache(10, pagesMax);
  for (const number of pages) cache.put(number, page(number), total);
  return cache;
}

test('asks only for pages that are not at hand, and none past the end', () => {
  expect(filled([1]).missing(5, 35)).toEqual([0, 2, 3]);
  expect(filled([9], 100).missing(85, 140)).toEqual([8]);
});

test('holds a bounded number of pages and gives up the one not looked at for longest', () => {
  const cache = filled([0, 1, 2, 3]);
  cache.rowAt(0);
  cache.put(7, page(7), 1000);
  expect(cache.pageCount).toBe(4);
  expect([cache.rowAt(0)?.id, cache.rowAt(10), cache.indexOf('row_12')]).toEqual(['row_0', undefined, undefined]);
});

test('a patch changes the row at hand and says where; others are nothing to it', () => {
  const cache = filled([2]);
  const changed = cache.patch([
    { id: 'row_25', cells: { b: { value: 'new', status: 'completed' } } },
    { id: 'row_999', cells: {} },
  ]);
  expect(changed).toEqual([25]);
  expect(cache.rowAt(25)?.cells).toEqual({ a: { value: 25, status: 'idle' }, b: { value: 'new', status: 'completed' } });
});

test('what is to be read again is shown until then', () => {
  const cache = filled([0, 1]);
  cache.expire(12);
  expect(cache.missing(0, 19)).toEqual([1]);
  expect(cache.rowAt(15)?.id).toBe('row_15');
});

test('a shorter list loses what lies beyond, a longer one reads its last page again', () => {
  const cache = filled([0, 1], 20);
  cache.resize(8);
  expect([cache.rowAt(15), cache.missing(0, 30)]).toEqual([undefined, [0]]);
  const grown = filled([0, 1], 20);
  grown.resize(21);
  expect(grown.missing(0, 30)).toEqual([1, 2]);
});

test('a row is added to the last page', () => {
  const cache = new PageCache(10, 4);
  cache.put(0, page(0, 3), 3);
  cache.append(row(3));
  expect([cache.total, cache.rowAt(3)?.id, cache.indexOf('row_3')]).toEqual([4, 'row_3', 3]);
});
