import type { Status } from '../../api/types';

export interface Progress {
  isRunning: boolean;
  done: number;
  total: number;
  failed: number;
  /** Cells a second over the last moments; undefined until it can be said. */
  rate?: number;
  secondsLeft?: number;
}

interface Moment {
  at: number;
  pending: number;
}

/** Rates are taken over this long. */
const WINDOW_MILLISECONDS = 12_000;

/** Follows one run by the service's counts: what was waiting at most is the whole, what is no longer waiting is done. */
export class RunMeter {
  private total = 0;
  private failedBefore = 0;
  private moments: Moment[] = [];
  private isRunning = false;

  read(status: Status, now: number): Progress {
    const { pending, failed } = countCells(status);
    if (pending === 0) {
      const ended = { isRunning: false, done: this.total, total: this.total, failed: failed - this.failedBefore };
      this.isRunning = false;
      this.moments = [];
      return { ...ended, failed: Math.max(0, ended.failed) };
    }
    if (!this.isRunning) {
      this.isRunning = true;
      this.total = 0;
      this.failedBefore = failed;
    }
    // More work was added while it ran: what is done stays done.
    const before = this.moments.at(-1)?.pending ?? pending;
    this.total = this.total === 0 ? pending : this.total + Math.max(0, pending - before);
    this.moments = [...this.moments.filter((moment) => now - moment.at < WINDOW_MILLISECONDS), { at: now, pending }];
    const rate = this.rate();
    return {
      isRunning: true,
      done: this.total - pending,
      total: this.total,
      failed: Math.max(0, failed - this.failedBefore),
      ...(rate !== undefined && { rate, secondsLeft: pending / rate }),
    };
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

export function countCells(status: Status): { pending: number; failed: number; idle: number } {
  let [pending, failed, idle] = [0, 0, 0];
  for (const column of Object.values(status.columns)) {
    pending += column.queued + column.generating;
    failed += column.error;
    idle += column.idle;
  }
  return { pending, failed, idle };
}
