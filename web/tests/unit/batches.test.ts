import { expect, test } from 'vitest';
import { inBatches } from '../../src/table/rows/batches';

test('cuts by number and by size, and loses nothing', () => {
  const short = Array.from({ length: 12_000 }, (_, index) => index);
  expect([...inBatches(short, (item) => item)].map((batch) => batch.length)).toEqual([5000, 5000, 2000]);
  const long = Array.from({ length: 5 }, () => 'x'.repeat(1_500_000));
  expect([...inBatches(long, (item) => item)].map((batch) => batch.length)).toEqual([2, 2, 1]);
  expect([...inBatches([], () => null)]).toEqual([]);
});
