import { expect, test } from 'vitest';
import type { Status } from '../../src/api/types';
import { RunMeter } from '../../src/table/runs/progress';

function status(queued: number, error = 0, idle = 0): Status {
  const counts = { header: 'A', type: 'ai' as const, idle, queued, generating: 0, complete: 0, error, skipped: 0 };
  const rows = { total: 0, idle: 0, queued: 0, generating: 0, complete: 0, error: 0 };
  return { success: true, rows, columns: { a: counts }, processing: queued > 0, updatedAt: '' };
}

test('counts what is done, how fast, and how long it will take', () => {
  const meter = new RunMeter();
  meter.read(status(100), 0);
  expect(meter.read(status(80, 1), 2000)).toEqual({ isRunning: true, done: 20, total: 100, failed: 1, notRun: 0, rate: 10, secondsLeft: 8 });
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
  expect(meter.read(status(0, 7), 1000)).toEqual({ isRunning: false, done: 10, total: 10, failed: 2, notRun: 0 });
});

const stopped = { isRunning: false, done: 20, total: 100, failed: 1, notRun: 80 };

test('what was stopped is not done, whether it is told before the counts show it or after', () => {
  const first = new RunMeter();
  first.read(status(100, 0, 5), 0);
  first.read(status(80, 1, 5), 1000);
  first.stop(80);
  expect(first.read(status(0, 1, 5), 2000)).toEqual(stopped);
  const then = new RunMeter();
  then.read(status(100), 0);
  then.read(status(80, 1), 1000);
  then.read(status(0, 1, 80), 2000);
  expect(then.stop(80)).toEqual(stopped);
});

test('cells that are idle again were stopped by somebody else', () => {
  const meter = new RunMeter();
  meter.read(status(100), 0);
  meter.read(status(80, 1), 1000);
  expect(meter.read(status(0, 1, 80), 2000)).toEqual(stopped);
  expect(meter.read(status(10, 1, 70), 3000)).toMatchObject({ isRunning: true, total: 10, notRun: 0 });
});

test('failures from before that a stop brings back are not its own', () => {
  const meter = new RunMeter();
  meter.read(status(100), 0);
  meter.read(status(80, 1), 1000);
  meter.stop(80);
  expect(meter.read(status(0, 81), 2000)).toEqual(stopped);
});
