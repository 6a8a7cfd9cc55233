import type { Status } from '../../api/types';
import { formatNumber } from '../../ui/format';

/** The cells of a column in words: `128 done, 3 failed, 5 out of date`. */
export function countsText(counts: Status['columns'][string]): string {
  const { idle, queued, generating, complete, error, skipped, stale } = counts;
  const parts: [number, string][] = [
    [generating, 'running'],
    [queued, 'queued'],
    [complete, 'done'],
    [error, 'failed'],
    [stale, 'out of date'],
    [skipped, 'skipped'],
    [idle, 'not run'],
  ];
  const told = parts.filter(([number]) => number > 0).map(([number, word]) => `${formatNumber(number)} ${word}`);
  return told.length > 0 ? told.join(', ') : 'No cells yet';
}
