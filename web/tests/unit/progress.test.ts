import { expect, test } from 'vitest';
import type { Status } from '../../src/api/types';
import { countEnded, type Progress, NO_RUN, RunMeter } from '../../src/table/runs/progress';
import { isAllEmpty, summary } from '../../src/table/runs/summary';

type Run = NonNullable<Status['run']>;

function status(queued: number, run?: Partial<Run>): Status {
  const counts = { header: 'A', type: 'ai' as const, idle: 0, queued, generating: 0, complete: 0, error: 0, skipped: 0, stale: 0 };
  const rows = { total: 0, idle: 0, queued: 0, generating: 0, complete: 0, error: 0 };
  const told = run && { cells: 0, done: 0, empty: 0, failed: 0, skipped: 0, stopped: 0, ...run };
  return { success: true, rows, columns: { a: counts }, processing: queued > 0, updatedAt: '', ...(told && { run: told }) };
}

test('nothing is told of a table that never ran', () => {
  expect(new RunMeter().read(status(0), 0)).toEqual(NO_RUN);
});

test('counts what is done, how fast, and how long it will take', () => {
  const meter = new RunMeter();
  meter.read(status(100, { cells: 100 }), 0);
  expect(meter.read(status(80, { cells: 100, done: 19, failed: 1, cost: 0.5 }), 2000)).toEqual({
    ...NO_RUN,
    ...{ isRunning: true, total: 100, done: 19, failed: 1, cost: 0.5, rate: 10, secondsLeft: 8, changedAt: 2000 },
  });
});

test('work added while it runs is not taken for work undone', () => {
  const meter = new RunMeter();
  meter.read(status(10, { cells: 10 }), 0);
  meter.read(status(4, { cells: 10, done: 6 }), 1000);
  expect(meter.read(status(14, { cells: 20, done: 6 }), 2000)).toMatchObject({ done: 6, total: 20, rate: 3 });
});

const NOW = Date.parse('2026-01-01T12:00:00.000Z');

const progress = (parts: Partial<Progress>): Progress => {
  const made = { ...NO_RUN, ...parts };
  return { ...made, total: parts.total ?? countEnded(made) };
};

test.each<[Partial<Progress>, string]>([
  [{ done: 40 }, '40 cells'],
  [{ done: 1 }, '1 cell'],
  [{ done: 38, failed: 2, cost: 1.234 }, '38 done, 2 failed · $1.23'],
  [{ done: 18, failed: 1, stopped: 381 }, '18 done, 1 failed, 381 stopped'],
  [{ done: 3, empty: 2, skipped: 1, credits: 4 }, '3 done, 2 empty, 1 skipped · 4 credits'],
  [{ empty: 40 }, '40 done, all of them empty: try the column on one row to see why'],
  [{ empty: 1, cost: 0.00042 }, '1 done, and empty: try the column on one row to see why · $0.00042'],
  [{ isRunning: true, total: 9, empty: 3, rate: 2.5, secondsLeft: 3, failed: 1, cost: 0, changedAt: NOW }, '2.5 a second · 3 s left · 1 failed · $0.00 so far'],
  [{ isRunning: true, total: 9, empty: 3, rate: 2.5, secondsLeft: 0.4, changedAt: NOW }, '2.5 a second'],
  [{ isRunning: true, total: 9, empty: 3, rate: 2.5, secondsLeft: 3, changedAt: NOW - 9000 }, ''],
  [{ isRunning: true, total: 9 }, ''],
])('%j is told as “%s”', (parts, words) => {
  expect(summary(progress(parts), undefined, NOW)).toBe(words);
});

test('a run is all empty only once it has ended, and only if every cell is', () => {
  expect(isAllEmpty(progress({ empty: 3 }))).toBe(true);
  expect(isAllEmpty(progress({ empty: 3, done: 1 }))).toBe(false);
  expect(isAllEmpty(progress({ empty: 3, isRunning: true }))).toBe(false);
  expect(isAllEmpty(NO_RUN)).toBe(false);
});
