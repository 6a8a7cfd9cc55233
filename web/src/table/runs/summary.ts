import { formatNumber, pluralize, formatDuration, formatCost } from '../../ui/format';
import type { Progress } from './progress';

/** Whether a run has ended with nothing found in any cell: rarely what somebody meant. */
export function isAllEmpty({ isRunning, total, empty }: Progress): boolean {
  return !isRunning && empty > 0 && empty === total;
}

/** How a run goes or went, in one line. What is counted adds up to the whole. */
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
