import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { cancelImport, type ImportJob, importsQuery } from '../../api/imports';
import { formatNumber, pluralize } from '../../ui/format';

interface Seen {
  jobId: string;
  rows: number;
  at: number;
}

/** An import in the background, and how many rows a second it has read since it was first looked at. */
export function useImportJob(projectId: string, pick: (jobs: ImportJob[]) => ImportJob | undefined) {
  const queryClient = useQueryClient();
  const { data, dataUpdatedAt } = useQuery(importsQuery(projectId));
  const job = pick(data ?? []);
  const [first, setFirst] = useState<Seen>();
  const [isCancelling, setIsCancelling] = useState(false);
  if (job?.status === 'running' && first?.jobId !== job.id) setFirst({ jobId: job.id, rows: job.rowsRead, at: dataUpdatedAt });
  const seconds = first && first.jobId === job?.id ? (dataUpdatedAt - first.at) / 1000 : 0;
  const rate = job && first && seconds > 0 ? (job.rowsRead - first.rows) / seconds : undefined;

  const cancel = async () => {
    if (!job) return;
    setIsCancelling(true);
    try {
      await cancelImport(projectId, job.id);
    } finally {
      setIsCancelling(false);
      await queryClient.invalidateQueries({ queryKey: importsQuery(projectId).queryKey });
    }
  };
  return { job, rate, cancel, isCancelling };
}

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
