import type { Status } from '../../api/types';

type Waiting = NonNullable<NonNullable<Status['run']>['waiting']>;

/** Progress of a run. Each cell ends in one of five ways, or is still pending. */
export interface Progress {
  isRunning: boolean;
  runId?: string;
  /** It ran while this page was open, be it for a moment. */
  isWitnessed?: boolean;
  total: number;
  done: number;
  /** Completed without a value. */
  empty: number;
  failed: number;
  skipped: number;
  /** Stopped while queued or running. */
  stopped: number;
  /** US dollars and provider credits, as far as providers report them or the price list knows them. */
  cost?: number;
  listCost?: number;
  credits?: number;
  /** Recent cells per second; undefined until it can be measured. */
  rate?: number;
  secondsLeft?: number;
  /** When a cell of the run last ended or was queued, in this browser's time. */
  changedAt?: number;
  /** What cells that are tried again wait for. */
  waiting?: Waiting;
  /** Cells that were sent to a provider together, and since when they wait. */
  batches?: { cells: number; since: string; until?: string };
}

function batchesOf(batches: NonNullable<Status['batches']>): NonNullable<Progress['batches']> {
  const cells = batches.reduce((sum, batch) => sum + batch.cells, 0);
  const since = batches.reduce((first, batch) => (batch.since < first ? batch.since : first), batches[0]?.since ?? '');
  const until = batches.reduce((last, batch) => ((batch.until ?? '') > last ? (batch.until ?? '') : last), '');
  return { cells, since, ...(until && { until }) };
}

interface Moment {
  at: number;
  pending: number;
}

export const NO_RUN: Progress = { isRunning: false, total: 0, done: 0, empty: 0, failed: 0, skipped: 0, stopped: 0 };

/** Time window for measuring the rate. */
const WINDOW_MILLISECONDS = 12_000;
/** A cell that waits is taken up again for a moment, and then waits on. Meanwhile the reason is still true. */
const REASON_KEPT_MILLISECONDS = 15_000;

/** Tracks a run by the service's counts and measures its rate. */
export class RunMeter {
  private moments: Moment[] = [];
  private first: { runId: string | undefined } | undefined;
  private witnessed: string | undefined;
  private change = { at: 0, key: '' };
  private told: { at: number; key: string; waiting: Waiting } | undefined;

  read(status: Status, now: number): Progress {
    const { pending } = countCells(status);
    this.first ??= { runId: status.runId };
    if (pending > 0 || status.runId !== this.first.runId) this.witnessed = status.runId;
    if (!status.run) return NO_RUN;
    const { cells: total, waiting, ...ways } = status.run;
    this.moments = pending === 0 ? [] : [...this.moments.filter((moment) => now - moment.at < WINDOW_MILLISECONDS), { at: now, pending }];
    const key = `${status.runId ?? ''} ${total - pending} ${total}`;
    if (key !== this.change.key) this.change = { at: now, key };
    const rate = this.rate();
    const reason = this.reason(waiting, key, now);
    return {
      isRunning: pending > 0,
      total,
      ...ways,
      ...(status.runId && { runId: status.runId }),
      ...(status.runId && status.runId === this.witnessed && { isWitnessed: true }),
      ...(pending > 0 && { changedAt: this.change.at }),
      ...(rate !== undefined && { rate, secondsLeft: pending / rate }),
      ...(pending > 0 && reason && { waiting: reason }),
      ...(pending > 0 && status.batches && { batches: batchesOf(status.batches) }),
    };
  }

  private reason(waiting: Waiting | undefined, key: string, now: number): Waiting | undefined {
    if (waiting) this.told = { at: now, key, waiting };
    else if (this.told && (this.told.key !== key || now - this.told.at > REASON_KEPT_MILLISECONDS)) this.told = undefined;
    return this.told?.waiting;
  }

  private rate(): number | undefined {
    let finished = 0;
    for (let place = 1; place < this.moments.length; place++) {
      finished += Math.max(0, (this.moments[place - 1]?.pending ?? 0) - (this.moments[place]?.pending ?? 0));
    }
    const seconds = ((this.moments.at(-1)?.at ?? 0) - (this.moments[0]?.at ?? 0)) / 1000;
    return seconds < 1 || finished === 0 ? undefined : finished / seconds;
  }
}

/** The number of cells that have ended in any way. */
export function countEnded({ done, empty, failed, skipped, stopped }: Progress): number {
  return done + empty + failed + skipped + stopped;
}

export function countCells(status: Status): { pending: number; failed: number; stale: number } {
  let [pending, failed, stale] = [0, 0, 0];
  for (const column of Object.values(status.columns)) {
    pending += column.queued + column.generating;
    failed += column.error;
    stale += column.stale;
  }
  return { pending, failed, stale };
}
