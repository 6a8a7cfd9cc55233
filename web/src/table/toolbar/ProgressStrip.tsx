import { Button, Progress as Bar, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { formatNumber, formatCost } from '../../ui/format';
import { countEnded, type Progress } from '../runs/progress';
import { isAllEmpty, summary, waitingText } from '../runs/summary';
import type { Table } from '../state/useTable';
import classes from './Toolbar.module.css';

/** How long the summary of a finished run stays. */
const LINGER_MILLISECONDS = 10_000;

/** Progress of the current run. */
export function ProgressStrip({ table, onRuns }: { table: Table; onRuns: () => void }) {
  const { progress } = table;
  const isShown = useLinger(progress);
  if (!isShown) return null;
  const finished = countEnded(progress);
  const percent = progress.total === 0 ? 100 : ((finished - progress.stopped) / progress.total) * 100;
  const isOver = !progress.isRunning;
  return (
    <div className={classes.progress} role="region" aria-label="Run progress">
      <Text size="sm" fw={600} style={{ whiteSpace: 'nowrap' }}>
        {isOver ? (progress.stopped > 0 ? 'Stopped' : 'Run finished') : `${formatNumber(finished)} of ${formatNumber(progress.total)}`}
      </Text>
      <Bar
        value={percent}
        color={isAllEmpty(progress) ? 'yellow' : undefined}
        animated={progress.isRunning}
        style={{ flex: 1, minWidth: 60 }}
        aria-label="Cells done"
      />
      <Text
        size="sm"
        c="dimmed"
        style={{ whiteSpace: isOver ? undefined : 'nowrap' }}
        visibleFrom={isOver ? undefined : 'xs'}
        title={formatCost(progress) && 'Cost as reported by the providers, else by the price list'}
      >
        {summary(progress)}
      </Text>
      {progress.isRunning && progress.waiting && (
        <Text size="sm" c="dimmed" truncate style={{ maxWidth: 420 }} title={waitingText(progress)}>
          {waitingText(progress)}
        </Text>
      )}
      <Button size="xs" variant="subtle" color="gray" visibleFrom="xs" onClick={onRuns}>
        All runs
      </Button>
    </div>
  );
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
