import { expect, test } from 'vitest';
import type { Json } from '../../src/api/types';
import { findEditConflicts } from '../../src/table/editing/editConflicts';

/** The conflict for a cell that was opened as `before`, is `now`, and got `text` typed. */
function found(before: Json, now: Json, text: string): Json | undefined {
  const typed = { rowIndex: 0, columnId: 'a', text, row: { id: 'r', before: { value: before, status: 'idle' as const } } };
  const row = { id: 'r', cells: { a: { value: now, status: 'idle' as const } } };
  return findEditConflicts([typed], { indexOf: () => 3, rowAt: () => row }).get('r')?.cell.value;
}

test('a cell that became something else while somebody typed is found', () => {
  expect(found('old', 'theirs', 'mine')).toBe('theirs');
  expect(found('old', null, 'mine')).toBe(null);
  expect(found(null, { a: 1 }, 'mine')).toEqual({ a: 1 });
  expect(found('old', 'old', 'mine')).toBeUndefined();
  expect(found('old', 'the same', 'the same')).toBeUndefined();
  expect(found(1, 2, '2')).toBeUndefined();
});
