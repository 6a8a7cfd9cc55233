import { expect, test } from 'vitest';
import type { Cell } from '../../src/api/types';
import { describeCell, isEmptyResult, isErrorStatus } from '../../src/table/model/cellStatus';

test('a cell that waits to be tried again says how long and why', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const error = { code: 'rate_limited' as const, message: 'Status 429' };
  const cell = { value: null, status: 'queued' as const, retryAt: '2026-01-01T00:00:12Z', error };
  expect(describeCell(cell, now)).toBe('Waiting to retry (in 12 s, after: Status 429)');
  expect(describeCell(cell, now + 60_000)).toBe('Waiting to retry (after: Status 429)');
  expect(describeCell({ value: null, status: 'queued' }, now)).toBe('Queued');
});

test.each<[Partial<Cell>, string, boolean]>([
  [{ meta: { status: 404 } }, 'The server answered 404, which counts as nothing found.', true],
  [{ meta: { status: 200 } }, 'The server answered 200, but the response has no value to keep.', false],
  [{ meta: { tried: [] } }, 'Nothing was found.', false],
  [{}, 'Nothing was found.', false],
])('an empty cell with %j says “%s”', (parts, words, refused) => {
  const cell: Cell = { value: null, status: 'completed', outcome: 'no_data', ...parts };
  expect(isEmptyResult(cell)).toBe(true);
  expect([describeCell(cell), isErrorStatus(cell.meta)]).toEqual([words, refused]);
});

test('what a hand emptied, or never ran, is not a run that found nothing', () => {
  expect(isEmptyResult({ value: null, status: 'idle' })).toBe(false);
  expect(isEmptyResult({ value: null, status: 'completed', manual: true })).toBe(false);
  expect(isEmptyResult({ value: 'x', status: 'completed' })).toBe(false);
});
