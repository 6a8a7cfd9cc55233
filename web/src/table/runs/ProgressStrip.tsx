import { Button, Progress as Bar, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { count, counted, duration } from '../../ui/format';
import { Icon } from '../../ui/Icon';
import classes from '../Table.module.css';
import type { Table } from '../useTable';
import type { Progress } from './progress';

/** A finished run says so for this long. */
const LINGER_MILLISECONDS = 10_000;

/** How a run is going. */
export function ProgressStrip({ table }: { table: Table }) {
  const { progress, runs } = table;
  const isShown = useLinger(progress);
  if (!isShown) return null;
  const percent = progress.total === 0 ? 100 : (progress.done / progress.total) * 100;
  const ended = progress.notRun > 0 ? 'Stopped' : 'Run ended';
  return (
    <div className={classes.progress} role="region" aria-label="Progress of the run">
      <Text size="sm" fw={600} style={{ whiteSpace: 'nowrap' }}>
        {progress.isRunning ? `${count(progress.done)} of ${count(progress.total)}` : ended}
      </Text>
      <Bar value={percent} animated={progress.isRunning} style={{ flex: 1, minWidth: 60 }} aria-label="Cells done" />
      <Text size="sm" c="dimmed" style={{ whiteSpace: 'nowrap' }} visibleFrom={progress.isRunning ? 'xs' : undefined}>
        {words(progress)}
      </Text>
      {progress.isRunning && (
        <Button
          size="xs"
          color="red"
          variant="light"
          leftSection={<Icon name="stop" size={14} />}
          loading={runs.isStopping}
          onClick={() => void runs.stop()}
        >
          Stop
        </Button>
      )}
    </div>
  );
}

function words({ isRunning, rate, secondsLeft, failed, done, total, notRun }: Progress): string {
  if (!isRunning && notRun > 0) {
    const parts = [`${count(done - failed)} done`, failed > 0 && `${count(failed)} failed`, `${count(notRun)} not run`];
    return parts.filter(Boolean).join(', ');
  }
  const parts: string[] = [];
  if (isRunning && rate !== undefined) parts.push(`${rate >= 10 ? Math.round(rate) : rate.toFixed(1)} a second`);
  if (isRunning && secondsLeft !== undefined) parts.push(`${duration(secondsLeft)} left`);
  if (!isRunning) parts.push(counted(total, 'cell'));
  if (failed > 0) parts.push(`${count(failed)} failed`);
  return parts.join(' · ');
}

function useLinger({ isRunning, total }: Progress): boolean {
  const [isLingering, setIsLingering] = useState(false);
  useEffect(() => {
    if (isRunning) {
      setIsLingering(true);
      return;
    }
    const timer = setTimeout(() => setIsLingering(false), LINGER_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [isRunning]);
  return isRunning || (isLingering && total > 0);
}
