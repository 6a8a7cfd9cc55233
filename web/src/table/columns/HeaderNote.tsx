import { Paper, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { statusQuery } from '../../api/queries';
import { type Column, isProcessed } from '../../api/types';
import { formatCost } from '../../ui/format';
import classes from '../../ui/Note.module.css';
import type { HoveredHeader } from '../grid/gridTypes';
import { countsText } from '../runs/countsText';
import type { Table } from '../state/useTable';
import { columnCostsQuery } from './useColumnCosts';

const DELAY_MILLISECONDS = 500;

/** Tooltip at the header of a column that runs: how its cells stand, and what the run cost. */
export function HeaderNote({ table, hovered }: { table: Table; hovered: HoveredHeader | undefined }) {
  const [isShown, setIsShown] = useState(false);
  const column = table.columns.find((candidate) => isProcessed(candidate) && candidate.id === hovered?.columnId);
  useEffect(() => {
    setIsShown(false);
    if (!column) return;
    const timer = setTimeout(() => setIsShown(true), DELAY_MILLISECONDS);
    // Who clicks has read enough.
    const hide = () => {
      clearTimeout(timer);
      setIsShown(false);
    };
    window.addEventListener('pointerdown', hide, true);
    return () => {
      clearTimeout(timer);
      window.removeEventListener('pointerdown', hide, true);
    };
  }, [column?.id]);
  if (!column || !hovered || !isShown) return null;
  const { x, y, height } = hovered.bounds;
  return (
    <Paper className={classes.note} withBorder shadow="md" role="tooltip" style={{ left: Math.min(x + 8, window.innerWidth - 430), top: y + height + 4 }}>
      <Counts table={table} column={column} />
    </Paper>
  );
}

function Counts({ table, column }: { table: Table; column: Column }) {
  const { data: status } = useQuery(statusQuery(table.project.id));
  const counts = status?.columns[column.id];
  const cost = status?.run && formatCost(status.run);
  const spent = useSpent(table.project.id, column.id);
  return (
    <>
      <Text size="sm" fw={600}>
        {column.header}
      </Text>
      <Text size="sm">{counts ? countsText(counts) : 'Loading'}</Text>
      {spent && (
        <Text size="xs" c="dimmed" mt={4}>
          This column so far: {spent}
        </Text>
      )}
      {cost && (
        <Text size="xs" c="dimmed" mt={4}>
          {status?.processing ? `This run so far: ${cost}` : `Last run: ${cost}`}
          {Object.keys(status?.columns ?? {}).length > 1 && ', all columns'}
        </Text>
      )}
    </>
  );
}

/** What a column has cost so far. Empty if nobody was paid. */
function useSpent(projectId: string, columnId: string): string {
  const { data } = useQuery(columnCostsQuery(projectId));
  const line = data?.lines.find((candidate) => candidate.columnId === columnId);
  return line ? formatCost({ cost: line.usd, credits: line.credits }) : '';
}
