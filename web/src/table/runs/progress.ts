import type { Status } from '../../api/types';

/** Progress of a run. Each cell ends in one of five ways, or is still pending. */
export interface Progress {
  isRunning: boolean;
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
  /** What cells that are tried again wait for. */
  waiting?: NonNullable<Status['run']>['waiting'];
}

interface Moment {
  at: number;
  pending: number;
}

export const NO_RUN: Progress = { isRunning: false, total: 0, done: 0, empty: 0, failed: 0, skipped: 0, stopped: 0 };

/** Time window for measuring the rate. */
const WINDOW_MILLISECONDS = 12_000;

/** Tracks a run by the service's counts and measures its rate. */
export class RunMeter {
  private moments: Moment[] = [];

  read(status: Status, now: number): Progress {
    const { pending } = countCells(status);
    if (!status.run) return NO_RUN;
    const { cells: total, ...ways } = status.run;
    this.moments = pending === 0 ? [] : [...this.moments.filter((moment) => now - moment.at < WINDOW_MILLISECONDS), { at: now, pending }];
    const rate = this.rate();
    return { isRunning: pending > 0, total, ...ways, ...(rate !== undefined && { rate, secondsLeft: pending / rate }) };
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

export function countCells(status: Status): { pending: number; failed: number } {
  let [pending, failed] = [0, 0];
  for (const column of Object.values(status.columns)) {
    pending += column.queued + column.generating;
    failed += column.error;
  }
  return { pending, failed };
}
