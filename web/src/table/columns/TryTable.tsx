import { Badge, Table as Grid, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '../../api/error';
import { tryColumn } from '../../api/operations';
import { tickFirstStep } from '../../ui/firstSteps';
import { displayOf, drawnLine } from '../display/display';
import { errorAdvice, isEmptyResult, shortMessage } from '../model/cellStatus';
import type { Table } from '../state/useTable';
import { spent } from './attempt';
import classes from './Columns.module.css';
import { toTry } from './changeBody';
import type { ColumnDraft } from './draft';
import { nameOf } from './rowName';

export const TRIED_ROWS = 5;

/** The outcome of a try on one row. */
export interface TriedRow {
  number: number;
  /** The first value of the row, to tell it from the others. */
  name: string;
  state: 'running' | 'done' | 'empty' | 'failed' | 'skipped';
  text: string;
  /** What to do about it, or what it cost. */
  note: string;
}

const STATES: Record<TriedRow['state'], [string, string]> = {
  running: ['Running', 'gray'],
  done: ['Done', 'mill'],
  empty: ['Nothing found', 'gray'],
  failed: ['Failed', 'red'],
  skipped: ['Skipped', 'yellow'],
};

interface Options {
  table: Table;
  draft: ColumnDraft;
  columnId: string | undefined;
  /** The first row to try, counted from 1. */
  number: number;
}

/** Tries an unsaved column on several rows at once. */
export function useTryRows({ table, draft, columnId, number }: Options) {
  const [rows, setRows] = useState<TriedRow[]>([]);
  const mutation = useMutation({
    mutationFn: async () => {
      const sample = await table.store.rowsBetween(number - 1, number - 1 + TRIED_ROWS);
      setRows(sample.map((row, place) => ({ number: number + place, name: nameOf(row, table.columns), state: 'running', text: '', note: '' })));
      const body = toTry(draft, table.columns.find(({ id }) => id === columnId));
      tickFirstStep('try');
      await Promise.all(
        sample.map(async (row, place) => {
          const part = await tryOne(table.project.id, { rowId: row.id, ...body, dryRun: false });
          setRows((old) => old.map((each) => (each.number === number + place ? { ...each, ...part } : each)));
        }),
      );
    },
    onError: (error) => setRows([{ number, name: '', state: 'failed', text: errorMessage(error), note: '' }]),
  });
  return { rows, isPending: mutation.isPending, mutate: () => mutation.mutate(), reset: () => setRows([]) };
}

async function tryOne(projectId: string, body: Parameters<typeof tryColumn>[1]): Promise<Pick<TriedRow, 'state' | 'text' | 'note'>> {
  const startedAt = performance.now();
  try {
    const { result } = await tryColumn(projectId, body);
    if (!result) return { state: 'skipped', text: '', note: '' };
    const { value = null, meta, error, status } = result;
    const note = spent(meta ?? {}, performance.now() - startedAt);
    if (error) return { state: status === 'skipped' ? 'skipped' : 'failed', text: shortMessage(error.message), note: errorAdvice(error.code) };
    if (isEmptyResult({ status, value })) return { state: 'empty', text: '', note };
    return { state: 'done', text: drawnLine(displayOf(value)), note };
  } catch (error) {
    return { state: 'failed', text: errorMessage(error), note: '' };
  }
}

/** The outcomes of a try on several rows as a small table. */
export function TryTable({ rows }: { rows: readonly TriedRow[] }) {
  return (
    <div className={classes.trayAnswer} tabIndex={0} role="region" aria-label="Results">
      <Grid fz="sm" verticalSpacing={6} horizontalSpacing={6} aria-live="polite">
        <Grid.Thead>
          <Grid.Tr>
            <Grid.Th>Row</Grid.Th>
            <Grid.Th>Result</Grid.Th>
          </Grid.Tr>
        </Grid.Thead>
        <Grid.Tbody>
          {rows.map(({ number, name, state, text, note }) => (
            <Grid.Tr key={number}>
              <Grid.Td valign="top" w="34%">
                <Text size="sm" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
                  {name || number}
                </Text>
              </Grid.Td>
              <Grid.Td valign="top">
                {state !== 'done' && (
                  <Badge size="sm" variant="light" color={STATES[state][1]}>
                    {STATES[state][0]}
                  </Badge>
                )}
                <Text size="sm" lineClamp={3} style={{ overflowWrap: 'anywhere' }}>
                  {text}
                </Text>
                <Text size="xs" c="dimmed">
                  {note}
                </Text>
              </Grid.Td>
            </Grid.Tr>
          ))}
        </Grid.Tbody>
      </Grid>
    </div>
  );
}
