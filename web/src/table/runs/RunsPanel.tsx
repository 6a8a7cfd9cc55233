import { Button, Stack, Table as Grid, Text } from '@mantine/core';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { runsQuery } from '../../api/queries';
import type { Run } from '../../api/types';
import { ErrorState } from '../../ui/ErrorState';
import { formatCost, formatDollars, formatNumber, timeAgo } from '../../ui/format';
import { SidePanel } from '../../ui/SidePanel';
import { durationText, startedByText } from './pastRun';
import classes from './Runs.module.css';

interface Props {
  projectId: string;
  isRunning: boolean;
  onOpen: (runId: string) => void;
  onClose: () => void;
}

/** The runs of a project, newest first. */
export function RunsPanel({ projectId, isRunning, onOpen, onClose }: Props) {
  const queryClient = useQueryClient();
  const runs = useInfiniteQuery(runsQuery(projectId));
  // A run that starts or ends changes the list; its counts while it runs are in the progress strip.
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: runsQuery(projectId).queryKey });
  }, [isRunning, projectId, queryClient]);
  const list = runs.data?.pages.flatMap((page) => page.runs) ?? [];
  return (
    <SidePanel title="Runs" icon="play" onClose={onClose}>
      <Stack>
        {runs.error && <ErrorState error={runs.error} onRetry={() => void runs.refetch()} />}
        {runs.isSuccess && list.length === 0 && (
          <Text size="sm" c="dimmed">
            Nothing has run yet. Every run of this table is listed here for 90 days.
          </Text>
        )}
        {list.length > 0 && (
          <Grid fz="sm" verticalSpacing={6} className={classes.numbers}>
            <Grid.Thead>
              <Grid.Tr>
                <Grid.Th>Started</Grid.Th>
                <Grid.Th ta="right">Cells</Grid.Th>
                <Grid.Th ta="right">Failed</Grid.Th>
                <Grid.Th ta="right">Duration</Grid.Th>
              </Grid.Tr>
            </Grid.Thead>
            <Grid.Tbody>
              {list.map((run) => (
                <RunRow key={run.id} run={run} onOpen={() => onOpen(run.id)} />
              ))}
            </Grid.Tbody>
          </Grid>
        )}
        {runs.hasNextPage && (
          <Button variant="default" loading={runs.isFetchingNextPage} onClick={() => void runs.fetchNextPage()}>
            Show older runs
          </Button>
        )}
      </Stack>
    </SidePanel>
  );
}

function RunRow({ run, onOpen }: { run: Run; onOpen: () => void }) {
  const { cells, failed, startedAt, status } = run;
  const price = formatCost(run);
  const expected = run.estimate?.usd && `estimated ${formatDollars(run.estimate.usd.likely)}`;
  const notes = [startedByText(run), status === 'stopped' && 'stopped', price, expected].filter(Boolean).join(' · ');
  return (
    <Grid.Tr className={classes.row}>
      <Grid.Td title={new Date(startedAt).toLocaleString()}>
        <button type="button" className={classes.rowButton} onClick={onOpen}>
          {timeAgo(startedAt)}
        </button>
        <Text size="xs" c="dimmed">
          {notes}
        </Text>
      </Grid.Td>
      <Grid.Td ta="right">{formatNumber(cells)}</Grid.Td>
      <Grid.Td ta="right" c={failed > 0 ? 'red' : 'dimmed'}>
        {formatNumber(failed)}
      </Grid.Td>
      <Grid.Td ta="right">{durationText(run)}</Grid.Td>
    </Grid.Tr>
  );
}
