import { formatNumber, pluralize, formatDuration, formatCost } from '../../ui/format';
import type { Progress } from './progress';

/** Whether a finished run found nothing in any cell, which usually means a mistake in the column. */
export function isAllEmpty({ isRunning, total, empty }: Progress): boolean {
  return !isRunning && empty > 0 && empty === total;
}

/** What the cells of a run wait for, and until when: `12 cells wait until 18:30:05`. */
export function waitingText({ waiting }: Progress): string {
  if (!waiting) return '';
  const time = new Date(waiting.until).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  return `${pluralize(waiting.cells, 'cell')} ${waiting.cells === 1 ? 'waits' : 'wait'} until ${time}: ${waiting.reason.message}`;
}

/** A running or finished run in one line. The counts add up to the total. */
export function summary(progress: Progress): string {
  const { isRunning, rate, secondsLeft, failed, total } = progress;
  const price = formatCost(progress);
  if (isAllEmpty(progress)) {
    const cells = total === 1 ? '1 done, and empty' : `${formatNumber(total)} done, all of them empty`;
    return [`${cells}: try the column on one row to see why`, price].filter(Boolean).join(' · ');
  }
  if (isRunning) {
    const parts = [
      rate !== undefined && `${rate >= 10 ? Math.round(rate) : rate.toFixed(1)} a second`,
      secondsLeft !== undefined && `${formatDuration(secondsLeft)} left`,
      failed > 0 && `${formatNumber(failed)} failed`,
      price && `${price} so far`,
    ];
    return parts.filter(Boolean).join(' · ');
  }
  const ways = (['done', 'empty', 'failed', 'skipped', 'stopped'] as const).filter((way) => progress[way] > 0);
  const isPlain = ways.length === 1 && ways[0] === 'done';
  const cells = isPlain ? pluralize(total, 'cell') : ways.map((way) => `${formatNumber(progress[way])} ${way}`).join(', ');
  return [cells, price].filter(Boolean).join(' · ');
}
