import { expect, test } from 'vitest';
import type { Json } from '../../src/api/types';
import { parseTyped } from '../../src/table/model/values';

test.each<[string, Json, Json]>([
  ['', 'x', null],
  ['007', null, '007'],
  ['12', 'old', '12'],
  ['12', 3, 12],
  ['twelve', 3, 'twelve'],
  ['TRUE', false, true],
  ['maybe', false, 'maybe'],
  ['{"a":1}', { a: 0 }, { a: 1 }],
  ['{"a":', { a: 0 }, '{"a":'],
  ['{"a":1}', null, '{"a":1}'],
])('%j typed over %j means %j', (text, before, expected) => {
  expect(parseTyped(text, before)).toEqual(expected);
});
