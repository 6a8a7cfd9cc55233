import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ImportJob } from '../../api/importJob';
import { cancelImport, importsQuery } from '../../api/imports';

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
