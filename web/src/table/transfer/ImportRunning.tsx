import { Button, Group, Progress, Stack, Text } from '@mantine/core';
import { useEffect } from 'react';
import { isOpen } from '../../api/importJob';
import { importPercent, importProgressText } from './importText';
import { useImportJob } from './useImportJob';

interface Props {
  projectId: string;
  jobId: string;
  onEnded: () => void;
  onClose: () => void;
}

/** An import in the background, in its dialog. */
export function ImportRunning({ projectId, jobId, onEnded, onClose }: Props) {
  const { job, rate, cancel, isCancelling } = useImportJob(projectId, (jobs) => jobs.find(({ id }) => id === jobId));
  const isOver = job !== undefined && !isOpen(job);
  useEffect(() => {
    if (isOver) onEnded();
  }, [isOver]);
  return (
    <Stack>
      <Text size="sm">The file is on the server. You can close this window: the import goes on, and the table shows its progress.</Text>
      <Progress value={job ? importPercent(job) : 0} animated aria-label="Import progress" />
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {job ? importProgressText(job, rate) : ''}
        </Text>
        <Group gap="xs">
          <Button variant="default" loading={isCancelling} onClick={() => void cancel()}>
            Cancel import
          </Button>
          <Button onClick={onClose}>Close</Button>
        </Group>
      </Group>
    </Stack>
  );
}
