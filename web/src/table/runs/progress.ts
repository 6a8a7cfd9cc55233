import type { Status } from '../../api/types';

export interface Progress {
  isRunning: boolean;
  done: number;
  total: number;
  failed: number;
  /** Cells that were stopped before anything came of them. */
  notRun: number;
  /** Cells a second over the last moments; undefined until it can be said. */
  rate?: number;
  secondsLeft?: number;
}

interface Moment {
  at: number;
  pending: number;
}

export const RESTING: Progress = { isRunning: false, done: 0, total: 0, failed: 0, notRun: 0 };

/** Rates are taken over this long. */
const WINDOW_MILLISECONDS = 12_000;

/** Follows one run by the service's counts: what was waiting at most is the whole, what is no longer waiting is done. */
export class RunMeter {
  private total = 0;
  private failedBefore = 0;
  private moments: Moment[] = [];
  private last: Progress = RESTING;
  private idle = 0;
  /** Cells that were stopped: as this page was told, and as the counts suggest when somebody else did it. */
  private stoppedCells = 0;
  private returnedCells = 0;
  private failedInRun = 0;

  read(status: Status, now: number): Progress {
    const { pending, failed, idle } = countCells(status);
    if (pending === 0) {
      // Cells that wait no more and are idle again were stopped.
      if (this.last.isRunning) this.returnedCells = Math.min(Math.max(0, idle - this.idle), this.moments.at(-1)?.pending ?? 0);
      this.moments = [];
      const { total } = this;
      return this.say({ isRunning: false, done: total, total, failed: Math.max(0, failed - this.failedBefore), notRun: 0 });
    }
    if (!this.last.isRunning) {
      this.total = 0;
      this.failedBefore = failed;
      this.stoppedCells = 0;
      this.returnedCells = 0;
    }
    this.idle = idle;
    // More work was added while it ran: what is done stays done.
    const before = this.moments.at(-1)?.pending ?? pending;
    this.total = this.total === 0 ? pending : this.total + Math.max(0, pending - before);
    this.moments = [...this.moments.filter((moment) => now - moment.at < WINDOW_MILLISECONDS), { at: now, pending }];
    const rate = this.rate();
    return this.say({
      isRunning: true,
      done: this.total - pending,
      total: this.total,
      failed: Math.max(0, failed - this.failedBefore),
      notRun: 0,
      ...(rate !== undefined && { rate, secondsLeft: pending / rate }),
    });
  }

  /** So many cells were stopped from here. It may be told before or after the counts show it. */
  stop(cells: number): Progress {
    this.stoppedCells += cells;
    return this.say({ ...this.last, done: this.last.done + this.last.notRun, notRun: 0 });
  }

  private say(next: Progress): Progress {
    const notRun = Math.min(Math.max(this.stoppedCells, this.returnedCells), next.done);
    // What had failed before and was stopped has failed again, but not in this run.
    const failed = notRun > 0 && !next.isRunning ? Math.min(next.failed, this.failedInRun) : next.failed;
    if (next.isRunning) this.failedInRun = next.failed;
    this.last = { ...next, failed, notRun, done: next.done - notRun };
    return this.last;
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
