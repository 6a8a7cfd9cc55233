import { expect, test } from 'vitest';
import type { ErrorCode, Status } from '../../src/api/types';
import { NO_RUN, type Progress, RunMeter } from '../../src/table/runs/progress';
import { summary } from '../../src/table/runs/summary';
import { type RunFacts, secondsLeft, waitingText } from '../../src/table/runs/waiting';

const NOW = Date.parse('2026-01-01T12:00:00.000Z');
const SOON = '2026-01-01T12:00:30.000Z';

const running = (parts: Partial<Progress>): Progress => ({ ...NO_RUN, isRunning: true, total: 10, changedAt: NOW, ...parts });
const waits = (code: ErrorCode, message: string, until = SOON): Partial<Progress> => ({ waiting: { cells: 2, reason: { code, message }, until } });
const limit = (scope: 'column' | 'provider', requests: number, perSeconds: number, seconds: number): RunFacts => ({
  failures: [],
  rateLimit: { scope, columnId: 'c', header: 'Mail', requests, perSeconds, cells: 10, seconds },
});

test.each<[string, Partial<Progress>, RunFacts | undefined, RegExp]>([
  ['a rate limit of the provider', waits('rate_limited', 'Too many requests.'), undefined, /^2 cells held back by the provider’s rate limit\. Next try at .*:.*30.*\.$/],
  ['a pause', waits('provider_error', 'geo.example responded with 503.'), undefined, /^2 cells paused after a failure: geo\.example responded with 503\. Next try at /],
  ['a pause that is over', waits('timed_out', 'No answer', '2026-01-01T11:59:59.000Z'), undefined, /^2 cells paused after a failure: No answer\. Trying again now\.$/],
  [
    'a spending cap',
    waits('spend_limit', "The team's cap of $5 a day is reached; this goes on at 2026-01-02T23:00:00Z or when the cap is raised."),
    undefined,
    /^Waiting for the spending cap: The team's cap of \$5 a day is reached; this goes on (tomorrow|on) .* or when the cap is raised\.$/,
  ],
  ['a key that was refused', {}, { failures: [{ code: 'invalid_credentials', cells: 12 }] }, /^12 cells failed: key refused\. The others with this key will fail, too\.$/],
  ['the limit of a column', {}, limit('column', 1, 60, 300), /^Limited to 1 call a minute by the settings of “Mail”\.$/],
  ['the limit of a provider', {}, limit('provider', 30, 10, 50), /^Limited to 30 calls in 10 s by the provider of “Mail”\.$/],
  ['a limit that costs next to nothing', {}, limit('column', 10, 1, 1), /^$/],
  ['a batch that is made', { batches: { cells: 0, since: '2026-01-01T11:59:00.000Z' } }, undefined, /^Cells are being collected for a batch\.$/],
  [
    'a batch',
    { batches: { cells: 40, since: '2026-01-01T11:57:00.000Z', until: '2026-01-02T11:57:00.000Z' } },
    undefined,
    /^40 cells sent 3 minutes ago as a batch, at half the price\. Results (tomorrow|on) .* at the latest\.$/,
  ],
  ['an answer', { changedAt: NOW - 20_000 }, undefined, /^Waiting for answers\.$/],
  ['nothing', {}, undefined, /^$/],
])('a run says that it waits for %s', (_, parts, facts, words) => {
  expect(waitingText(running(parts), facts, NOW)).toMatch(words);
});

test('while it waits, no time is told that has nothing to do with the wait', () => {
  const quick = { rate: 8, secondsLeft: 0.2 };
  expect(secondsLeft(running(quick), undefined, NOW)).toBeUndefined();
  expect(secondsLeft(running({ ...quick, ...waits('rate_limited', '') }), undefined, NOW)).toBe(30);
  expect(secondsLeft(running({ ...quick, ...waits('spend_limit', '') }), undefined, NOW)).toBeUndefined();
  expect(secondsLeft(running(quick), limit('column', 1, 60, 300), NOW)).toBe(300);
  expect(summary(running({ ...quick, changedAt: NOW - 30_000 }), undefined, NOW)).toBe('');
});

function status(queued: number, waiting?: NonNullable<Status['run']>['waiting'], runId = 'run_1'): Status {
  const counts = { header: 'A', type: 'ai' as const, idle: 0, queued, generating: 0, complete: 0, error: 0, skipped: 0, stale: 0 };
  const rows = { total: 0, idle: 0, queued: 0, generating: 0, complete: 0, error: 0 };
  const run = { cells: 5, done: 5 - queued, empty: 0, failed: 0, skipped: 0, stopped: 0, ...(waiting && { waiting }) };
  return { success: true, rows, columns: { a: counts }, processing: true, updatedAt: '', runId, run };
}

test('batches of a run are told together', () => {
  const batch = (cells: number, since: string, until?: string) => ({ columnId: 'a', state: 'waiting' as const, cells, since, ...(until && { until }) });
  const batches = [batch(3, '2026-01-01T10:00:00Z', '2026-01-02T10:00:00Z'), batch(4, '2026-01-01T09:00:00Z', '2026-01-02T09:00:00Z'), batch(0, '2026-01-01T11:00:00Z')];
  const progress = new RunMeter().read({ ...status(3), batches }, 0);
  expect(progress.batches).toEqual({ cells: 7, since: '2026-01-01T09:00:00Z', until: '2026-01-02T10:00:00Z' });
  expect(new RunMeter().read(status(3), 0).batches).toBeUndefined();
});

test('the reason stays while a cell that waits is taken up for a moment', () => {
  const waiting = { cells: 1, reason: { code: 'spend_limit' as const, message: 'Reached.' }, until: SOON };
  const meter = new RunMeter();
  expect(meter.read(status(3, waiting), 0).waiting).toEqual(waiting);
  expect(meter.read(status(3), 2000)).toMatchObject({ waiting, changedAt: 0 });
  expect(meter.read(status(2), 4000).waiting).toBeUndefined();
  meter.read(status(2, waiting), 5000);
  expect(meter.read(status(2), 25_000).waiting).toBeUndefined();
});

test('a run that is over in a moment is told, and one from before is not', () => {
  const meter = new RunMeter();
  expect(meter.read(status(0), 0).isWitnessed).toBeUndefined();
  expect(meter.read(status(0, undefined, 'run_2'), 1000).isWitnessed).toBe(true);
  const another = new RunMeter();
  expect(another.read(status(2), 0).isWitnessed).toBe(true);
  expect(another.read(status(0), 1000).isWitnessed).toBe(true);
});
