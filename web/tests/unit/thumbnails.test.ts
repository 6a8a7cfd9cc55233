import type { CellSet } from '@glideapps/glide-data-grid';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BusyError, Thumbnails } from '../../src/table/grid/thumbnails';

interface Call {
  url: string;
  signal: AbortSignal;
  answer: (bitmap: ImageBitmap) => void;
  refuse: (error: Error) => void;
}

const bitmap = () => ({ width: 1, height: 1, close: vi.fn() }) as unknown as ImageBitmap;

function start() {
  const calls: Call[] = [];
  const thumbnails = new Thumbnails((url, signal) => new Promise((answer, refuse) => calls.push({ url, signal, answer, refuse })));
  thumbnails.setWindow({ x: 0, y: 0, width: 5, height: 20 }, 0);
  return { calls, thumbnails };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('few are loaded at once, the newest first, and each once', async () => {
  const { calls, thumbnails } = start();
  for (let row = 0; row < 6; row += 1) expect(thumbnails.show(`/${row}`, 1, row)).toBe('loading');
  thumbnails.show('/5', 1, 5);
  await vi.advanceTimersByTimeAsync(0);
  expect(calls.map(({ url }) => url)).toEqual(['/5', '/4', '/3']);
  const made = bitmap();
  const redrawn: CellSet[] = [];
  thumbnails.setCallback((cells) => redrawn.push(cells));
  calls[0]?.answer(made);
  await vi.advanceTimersByTimeAsync(100);
  expect(thumbnails.show('/5', 1, 5)).toBe(made);
  expect(redrawn.map((cells) => [cells.has([1, 5]), cells.has([1, 4])])).toEqual([[true, false]]);
  expect(calls.map(({ url }) => url)).toEqual(['/5', '/4', '/3', '/2']);
});

test('what scrolls away is cancelled, and asked for again when it is back', async () => {
  const { calls, thumbnails } = start();
  for (let row = 0; row < 6; row += 1) thumbnails.show(`/${row}`, 1, row);
  await vi.advanceTimersByTimeAsync(0);
  thumbnails.setWindow({ x: 0, y: 100, width: 5, height: 20 }, 0);
  expect(calls.every(({ signal }) => signal.aborted)).toBe(true);
  for (const { refuse } of calls) refuse(new Error('aborted'));
  await vi.advanceTimersByTimeAsync(0);
  expect(calls).toHaveLength(3);
  thumbnails.setWindow({ x: 0, y: 0, width: 5, height: 20 }, 0);
  expect(thumbnails.show('/1', 1, 1)).toBe('loading');
  await vi.advanceTimersByTimeAsync(0);
  expect(calls.at(-1)?.url).toBe('/1');
});

test('a failure is final, a busy server is asked again', async () => {
  const { calls, thumbnails } = start();
  thumbnails.show('/a', 1, 0);
  thumbnails.show('/b', 1, 1);
  await vi.advanceTimersByTimeAsync(0);
  calls.find(({ url }) => url === '/a')?.refuse(new Error('404'));
  calls.find(({ url }) => url === '/b')?.refuse(new BusyError());
  await vi.advanceTimersByTimeAsync(10);
  expect([thumbnails.show('/a', 1, 0), thumbnails.show('/b', 1, 1)]).toEqual(['failed', 'loading']);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(calls.map(({ url }) => url)).toEqual(['/b', '/a', '/b']);
});

test('memory is bounded, and the end gives it back', async () => {
  const { calls, thumbnails } = start();
  const made: ImageBitmap[] = [];
  for (let row = 0; row < 400; row += 1) {
    thumbnails.setWindow({ x: 0, y: row, width: 5, height: 2 }, 0);
    thumbnails.show(`/${row}`, 1, row);
    await vi.advanceTimersByTimeAsync(0);
    made.push(bitmap());
    calls.at(-1)?.answer(made[row] as ImageBitmap);
    await vi.advanceTimersByTimeAsync(0);
  }
  const closed = () => made.filter(({ close }) => vi.mocked(close).mock.calls.length > 0).length;
  expect(closed()).toBe(100);
  thumbnails.close();
  expect(closed()).toBe(400);
});
