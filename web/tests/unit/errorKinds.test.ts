import { expect, test } from 'vitest';
import { isGoneOrForbidden, toApiError, unreachable } from '../../src/api/error';

test.each([
  [404, true],
  [403, true],
  [401, false],
  [429, false],
  [500, false],
])('%i closes a table that is open: %s', (status, isClosed) => {
  expect(isGoneOrForbidden(toApiError(status, undefined))).toBe(isClosed);
});

test('a table stays open while the service cannot be reached', () => {
  expect(isGoneOrForbidden(unreachable())).toBe(false);
  expect(isGoneOrForbidden(null)).toBe(false);
});
