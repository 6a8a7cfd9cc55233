import { expect, test } from 'vitest';
import { readAddress, writeAddress } from '../../src/table/views/tableAddress';

const filters = [{ columnId: 'col_a', operator: 'equals', value: 'a & b' }] as never;
const sorting = [{ columnId: 'col_a', direction: 'desc' }] as never;

test('what is written is read again, and the rest stays', () => {
  const query = writeAddress('?view=view_1', { filters, sorting, search: 'ada' });
  expect(new URLSearchParams(query).get('view')).toBe('view_1');
  expect(readAddress(query)).toEqual({ filters, sorting, search: 'ada' });
  expect(writeAddress(query, { filters: undefined, sorting: undefined, search: undefined })).toBe('view=view_1');
});

test.each(['?filters=x', '?filters={}', '?filters=[1]', '?filters=[null]', '?q='])('%s says nothing', (query) => {
  expect(readAddress(query)).toEqual({});
});

test('an address does not grow too long', () => {
  expect(writeAddress('?view=v', { filters, sorting, search: 'x'.repeat(5_000) })).toBe('view=v');
});
