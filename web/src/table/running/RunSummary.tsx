import { Button, Loader, Stack, Table as Grid, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { CSSProperties } from 'react';
import { runQuery } from '../../api/queries';
import type { Run } from '../../api/types';
import { ErrorState } from '../../ui/ErrorState';
import { formatCost, formatDollars, formatDuration, formatNumber, pluralize, timeAgo } from '../../ui/format';
import { SidePanel } from '../../ui/SidePanel';
import { errorAdvice } from '../model/cellStatus';
import type { Table } from '../state/useTable';
import { causeText } from '../runs/causes';
import { durationText, startedByText, statusText } from '../runs/pastRun';
import classes from '../runs/Runs.module.css';

interface Props {
  table: Table;
  runId: string;
  onBack: () => void;
  onClose: () => void;
}

/** What came of one run, why cells failed, and how good its estimate was. */
export function RunSummary({ table, runId, onBack, onClose }: Props) {
  const run = useQuery(runQuery(table.project.id, runId, table.progress.isRunning));
  return (
    <SidePanel title="Run" icon="play" onBack={onBack} onClose={onClose}>
      {run.isPending && <Loader size="sm" />}
      {run.isError && <ErrorState error={run.error} onRetry={() => void run.refetch()} />}
      {run.data && (
        <Stack gap="lg">
          <div>
            <Text fw={600}>{statusText(run.data)}</Text>
            <Text size="sm" c="dimmed" title={new Date(run.data.startedAt).toLocaleString()}>
              {[`Started ${timeAgo(run.data.startedAt)}`, startedByText(run.data)].filter(Boolean).join(' · ')}
            </Text>
          </div>
          <Outcome run={run.data} />
          <Failures run={run.data} table={table} />
          <Skips run={run.data} />
          <Comparison run={run.data} />
        </Stack>
      )}
    </SidePanel>
  );
}

const WAYS = [
  ['done', 'done', 'var(--mantine-color-mill-6)'],
  ['empty', 'empty', 'var(--mantine-color-yellow-5)'],
  ['failed', 'failed', 'var(--mantine-color-red-6)'],
  ['skipped', 'skipped', 'var(--mantine-color-gray-5)'],
  ['stopped', 'stopped', 'var(--mantine-color-gray-7)'],
  ['queued', 'left', 'var(--line)'],
] as const;

function Outcome({ run }: { run: Run }) {
  const ways = WAYS.filter(([way]) => run[way] > 0);
  return (
    <Stack gap="sm">
      <div className={classes.bar} aria-hidden>
        {ways.map(([way, , color]) => (
          <span key={way} style={{ '--way': color, flexGrow: run[way], flexBasis: 0 } as CSSProperties} />
        ))}
      </div>
      <ul className={classes.ways} aria-label="Outcome">
        {ways.map(([way, word, color]) => (
          <li key={way} style={{ '--way': color } as CSSProperties}>
            <span>
              <b className={classes.numbers}>{formatNumber(run[way])}</b> {word}
            </span>
          </li>
        ))}
      </ul>
    </Stack>
  );
}

function Failures({ run, table }: { run: Run; table: Table }) {
  if (run.failures.length === 0) return null;
  return (
    <section>
      <Title order={3} size="h5">
        Why cells failed
      </Title>
      <ul className={classes.causes}>
        {run.failures.map(({ code, cells }) => (
          <li key={code}>
            <div style={{ flex: 1 }}>
              <Text size="sm" fw={550}>
                {causeText(code)}: {pluralize(cells, 'cell')}
              </Text>
              <Text size="xs" c="dimmed">
                {errorAdvice(code)}
              </Text>
            </div>
            <Button
              size="xs"
              variant="default"
              disabled={table.progress.isRunning}
              onClick={() => void table.runs.run({ statuses: ['error'], errorCodes: [code] })}
            >
              Retry these
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Skips({ run }: { run: Run }) {
  if (run.skips.length === 0) return null;
  return (
    <section>
      <Title order={3} size="h5">
        Why cells were skipped
      </Title>
      <ul className={classes.causes}>
        {run.skips.map(({ code, cells }) => (
          <li key={code}>
            <div>
              <Text size="sm" fw={550}>
                {causeText(code)}: {pluralize(cells, 'cell')}
              </Text>
              <Text size="xs" c="dimmed">
                {errorAdvice(code)}
              </Text>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The estimate beside what the run took. */
function Comparison({ run }: { run: Run }) {
  const { estimate } = run;
  const cost = formatCost(run);
  const lines: [string, string, string][] = [
    ['Cells', estimate ? formatNumber(estimate.cells) : '', formatNumber(run.cells)],
    ['Cost', estimate?.usd ? formatDollars(estimate.usd.likely) : '', cost || 'none reported'],
    ['Time', estimate ? formatDuration(estimate.seconds) : '', durationText(run)],
    ['Calls', '', formatNumber(run.usage.attempts)],
  ];
  return (
    <section>
      <Title order={3} size="h5">
        {estimate ? 'Estimate and result' : 'Result'}
      </Title>
      <Grid fz="sm" verticalSpacing={6} className={classes.flush}>
        {estimate && (
          <Grid.Thead>
            <Grid.Tr>
              <Grid.Td />
              <Grid.Th ta="right">Estimate</Grid.Th>
              <Grid.Th ta="right">Result</Grid.Th>
            </Grid.Tr>
          </Grid.Thead>
        )}
        <Grid.Tbody>
          {lines.map(([label, expected, took]) => (
            <Grid.Tr key={label}>
              <Grid.Th scope="row" fw={400} c="dimmed">
                {label}
              </Grid.Th>
              {estimate && <Grid.Td ta="right">{expected}</Grid.Td>}
              <Grid.Td ta="right">{took}</Grid.Td>
            </Grid.Tr>
          ))}
        </Grid.Tbody>
      </Grid>
    </section>
  );
}
