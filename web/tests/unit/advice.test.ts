import { expect, test } from 'vitest';
import { describe } from '../../src/table/cell/advice';

test('a cell that waits to be tried again says how long and why', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const error = { code: 'rate_limited' as const, message: 'Status 429' };
  const cell = { value: null, status: 'queued' as const, retryAt: '2026-01-01T00:00:12Z', error };
  expect(describe(cell, now)).toBe('Waits to retry (in 12 s, after: Status 429)');
  expect(describe(cell, now + 60_000)).toBe('Waits to retry (after: Status 429)');
  expect(describe({ value: null, status: 'queued' }, now)).toBe('Queued');
});
