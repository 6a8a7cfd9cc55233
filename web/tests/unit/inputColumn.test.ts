import { expect, test } from 'vitest';
import type { Column, Json } from '../../src/api/types';
import { firstToType, unnamedInput } from '../../src/table/model/inputColumn';

const INPUT = { id: '_trigger', header: 'Input', type: 'manual' } as Column;
const column = (id: string, type: Column['type']) => ({ id, header: id, type }) as Column;
const holding = (value: Json) => (index: number) => (index === 0 ? { id: 'r', cells: { _trigger: { value, status: 'idle' as const } } } : undefined);

test('a new row begins in the first column that people write in', () => {
  const check = (columns: Column[], value: Json, expected: number) => expect(firstToType(columns, holding(value))).toBe(expected);
  check([INPUT], null, 0);
  check([INPUT, column('a', 'ai'), column('b', 'manual')], null, 2);
  check([INPUT, column('b', 'manual')], { sent: 'by API' }, 0);
  check([INPUT, column('a', 'ai')], null, 0);
  check([column('b', 'manual')], null, 0);
  expect(firstToType([INPUT, column('b', 'manual')], () => undefined)).toBe(1);
});

test('the first column can be named as long as it is alone and nobody has', () => {
  expect(unnamedInput([INPUT])).toBe(INPUT);
  expect(unnamedInput([{ ...INPUT, header: 'Company' }])).toBeUndefined();
  expect(unnamedInput([INPUT, column('b', 'manual')])).toBeUndefined();
});
