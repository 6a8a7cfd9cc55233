import type { ImportJob } from '../../api/importJob';
import { formatNumber, pluralize } from '../../ui/format';

export function importPercent({ bytesRead, fileBytes }: ImportJob): number {
  return (bytesRead / Math.max(1, fileBytes)) * 100;
}

/** How far an import is, in a few words. */
export function importProgressText(job: ImportJob, rate: number | undefined): string {
  if (job.status === 'queued') return 'Waiting for its turn';
  const rows = `${pluralize(job.rowsRead, 'row')} read`;
  const rejected = job.rejectedCount > 0 ? `, ${formatNumber(job.rejectedCount)} rejected` : '';
  return `${rows}${rejected}${rate === undefined ? '' : ` · ${formatNumber(Math.round(rate))} rows/s`}`;
}

/** How an import ended, in a few words. */
export function importEndText(job: ImportJob): string {
  const rows = `${pluralize(job.importedCount, 'row')} imported${job.rejectedCount > 0 ? `, ${formatNumber(job.rejectedCount)} rejected` : ''}`;
  if (job.status === 'failed') return `The import failed: ${job.error?.error ?? 'unknown reason'}. ${rows}`;
  return `${job.status === 'cancelled' ? 'Import cancelled' : 'Import finished'}: ${rows}`;
}
