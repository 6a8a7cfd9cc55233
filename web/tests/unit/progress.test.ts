import { expect, test } from 'vitest';
import type { Status } from '../../src/api/types';
import { RunMeter } from '../../src/table/runs/progress';

function status(queued: number, error = 0): Status {
  const counts = { header: 'A', type: 'ai' as const, idle: 0, queued, generating: 0, complete: 0, error, skipped: 0 };
  const rows = { total: 0, idle: 0, queued: 0, generating: 0, complete: 0, error: 0 };
  return { success: true, rows, columns: { a: counts }, processing: queued > 0, updatedAt: '' };
}

test('counts what is done, how fast, and how long it will take', () => {
  const meter = new RunMeter();
  meter.read(status(100), 0);
  expect(meter.read(status(80, 1), 2000)).toEqual({ isRunning: true, done: 20, total: 100, failed: 1, rate: 10, secondsLeft: 8 });
});

test('work added while it runs makes the whole larger, not the done smaller', () => {
  const meter = new RunMeter();
  meter.read(status(10), 0);
  meter.read(status(4), 1000);
  expect(meter.read(status(14), 2000)).toMatchObject({ done: 6, total: 20 });
});

test('errors from before the run are not its own', () => {
  const meter = new RunMeter();
  meter.read(status(10, 5), 0);
  expect(meter.read(status(0, 7), 1000)).toEqual({ isRunning: false, done: 10, total: 10, failed: 2 });
});
