import { formatNumber, pluralize, formatDuration, formatCost } from '../../ui/format';
import type { Progress } from './progress';
import { isQuiet, type RunFacts, secondsLeft } from './waiting';

/** Whether a finished run found nothing in any cell, which usually means a mistake in the column. */
export function isAllEmpty({ isRunning, total, empty }: Progress): boolean {
  return !isRunning && empty > 0 && empty === total;
}

/** A running or finished run in one line. The counts add up to the total. */
export function summary(progress: Progress, facts?: RunFacts, now = Date.now()): string {
  const { isRunning, failed, total } = progress;
  const price = formatCost(progress);
  if (isAllEmpty(progress)) {
    const cells = total === 1 ? '1 done, and empty' : `${formatNumber(total)} done, all of them empty`;
    return [`${cells}: try the column on one row to see why`, price].filter(Boolean).join(' · ');
  }
  if (isRunning) {
    const left = secondsLeft(progress, facts, now);
    const parts = [
      rateText(progress, now),
      left !== undefined && `${formatDuration(left)} left`,
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

function rateText(progress: Progress, now: number): string {
  const { rate } = progress;
  if (rate === undefined || isQuiet(progress, now)) return '';
  return `${rate >= 10 ? Math.round(rate) : rate.toFixed(1)} a second`;
}
