import { Button, Progress, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { isOpen } from '../../api/importJob';
import { projectQuery } from '../../api/queries';
import { Icon } from '../../ui/Icon';
import type { Table } from '../state/useTable';
import { importEndText, importPercent, importProgressText } from '../transfer/importText';
import { useImportJob } from '../transfer/useImportJob';
import toolbar from './Toolbar.module.css';

/** The import that runs in the background, also after a reload. What became of it stays until it is dismissed. */
export function ImportStrip({ table, onShow }: { table: Table; onShow: (jobId: string) => void }) {
  const projectId = table.project.id;
  const [watchedId, setWatchedId] = useState<string>();
  const { job, rate, cancel, isCancelling } = useImportJob(projectId, (jobs) => jobs.find(isOpen) ?? jobs.find(({ id }) => id === watchedId));
  const queryClient = useQueryClient();
  const isRunning = job !== undefined && isOpen(job);
  useEffect(() => {
    if (isRunning) setWatchedId(job.id);
  }, [isRunning, job?.id]);
  useEffect(() => {
    if (watchedId === undefined || isRunning) return;
    // The import may have made columns.
    void queryClient.invalidateQueries({ queryKey: projectQuery(projectId).queryKey });
    table.store.refresh();
  }, [isRunning, watchedId]);
  if (!job) return null;
  return (
    <div className={toolbar.progress} role="region" aria-label="Import progress">
      <Text size="sm" fw={600} style={{ whiteSpace: isRunning ? 'nowrap' : undefined, flex: isRunning ? undefined : 1 }}>
        {isRunning ? 'Importing' : importEndText(job)}
      </Text>
      {isRunning && (
        <>
          <Progress value={importPercent(job)} animated style={{ flex: 1, minWidth: 60 }} aria-label="Part of the file that was read" />
          <Text size="sm" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
            {importProgressText(job, rate)}
          </Text>
          <Button size="xs" color="red" variant="light" leftSection={<Icon name="stop" size={14} />} loading={isCancelling} onClick={() => void cancel()}>
            Cancel
          </Button>
        </>
      )}
      {!isRunning && (
        <>
          <Button size="xs" variant="subtle" color="gray" onClick={() => onShow(job.id)}>
            Details
          </Button>
          <Button size="xs" variant="default" onClick={() => setWatchedId(undefined)}>
            Dismiss
          </Button>
        </>
      )}
    </div>
  );
}
