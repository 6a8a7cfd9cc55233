import { ActionIcon, Button, Progress as Bar, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { runQuery } from '../../api/queries';
import type { Estimate, Run } from '../../api/types';
import { formatCost, formatDollars, formatNumber } from '../../ui/format';
import { Icon } from '../../ui/Icon';
import { causeText } from '../runs/causes';
import { countEnded, type Progress } from '../runs/progress';
import { isAllEmpty, summary } from '../runs/summary';
import { waitingText } from '../runs/waiting';
import type { Table } from '../state/useTable';
import classes from './Toolbar.module.css';

/** How long the summary of a finished run stays. One with failures stays until it is closed. */
const LINGER_MILLISECONDS = 10_000;
/** How many causes of failures have a button in the strip. */
const CAUSES_SHOWN_MAX = 3;

/** Progress of the current run, what it waits for, and what came of it. */
export function ProgressStrip({ table, onRun }: { table: Table; onRun: (runId: string) => void }) {
  const { progress } = table;
  const { isShown, dismiss } = useLinger(progress);
  const now = useNow(isShown && progress.isRunning);
  const runId = progress.runId ?? '';
  const facts = useQuery({ ...runQuery(table.project.id, runId, progress.isRunning), enabled: isShown && runId !== '' }).data;
  if (!isShown) return null;
  const finished = countEnded(progress);
  const percent = progress.total === 0 ? 100 : ((finished - progress.stopped) / progress.total) * 100;
  const isOver = !progress.isRunning;
  const waiting = isOver ? '' : waitingText(progress, facts, now);
  const expected = isOver && facts?.estimate ? expectedText(facts.estimate) : '';
  return (
    <div className={classes.progress} role="region" aria-label="Run progress">
      <div className={classes.progressLine}>
        <Text size="sm" fw={600} style={{ whiteSpace: 'nowrap' }}>
          {isOver ? (progress.stopped > 0 ? 'Stopped' : 'Run finished') : `${formatNumber(finished)} of ${formatNumber(progress.total)}`}
        </Text>
        <Bar
          value={percent}
          color={isAllEmpty(progress) ? 'yellow' : undefined}
          animated={progress.isRunning && !progress.waiting}
          style={{ flex: 1, minWidth: 60 }}
          aria-label="Cells done"
        />
        <Text
          size="sm"
          c="dimmed"
          className={classes.progressText}
          visibleFrom={isOver ? undefined : 'xs'}
          title={formatCost(progress) && 'Cost as reported by the providers, else by the price list'}
        >
          {summary(progress, facts, now)}
          {expected}
        </Text>
        {runId && (
          <Button size="xs" variant="subtle" color="gray" visibleFrom="xs" onClick={() => onRun(runId)}>
            Details
          </Button>
        )}
        {isOver && (
          <ActionIcon variant="subtle" color="gray" size="sm" aria-label="Close the summary" onClick={dismiss}>
            <Icon name="close" size={14} />
          </ActionIcon>
        )}
      </div>
      {waiting && (
        <Text size="sm" className={classes.progressNote} role="status">
          <Icon name="clock" size={15} />
          <span>{waiting}</span>
        </Text>
      )}
      {isOver && facts && facts.failures.length > 0 && <Failures run={facts} table={table} />}
    </div>
  );
}

/** Why cells of the last run failed, each with a button that tries those again. */
function Failures({ run, table }: { run: Run; table: Table }) {
  const shown = run.failures.slice(0, CAUSES_SHOWN_MAX);
  return (
    <ul className={classes.progressCauses} aria-label="Why cells failed">
      {shown.map(({ code, cells }) => (
        <li key={code}>
          <Icon name="warn" size={15} />
          <Text size="sm" span>
            {causeText(code)}: {formatNumber(cells)}
          </Text>
          <Button size="compact-xs" variant="default" onClick={() => void table.runs.run({ statuses: ['error'], errorCodes: [code] })}>
            Retry these
          </Button>
        </li>
      ))}
    </ul>
  );
}

/** What a run was estimated to cost; empty if nobody is paid. */
function expectedText({ usd, basis }: Estimate): string {
  const isFree = basis.every(({ from }) => from === 'free');
  return usd && !isFree ? ` (estimated ${formatDollars(usd.likely)})` : '';
}

function useLinger({ isRunning, isWitnessed, failed, runId = '' }: Progress): { isShown: boolean; dismiss: () => void } {
  const [gone, setGone] = useState('');
  const isKept = failed > 0;
  useEffect(() => {
    if (isRunning || isKept || !isWitnessed) return;
    const timer = setTimeout(() => setGone(runId), LINGER_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [isRunning, isKept, isWitnessed, runId]);
  return { isShown: isRunning || (isWitnessed === true && gone !== runId), dismiss: () => setGone(runId) };
}

/** The time, once a second. */
function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isTicking) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}
