import { Alert, Badge, Button, Group, Select, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { Cell, CellStatus, Column, Row } from '../../api/types';
import { isProcessed } from '../../api/types';
import { pluralize, timeAgo } from '../../ui/format';
import { notifyError } from '../../ui/notify';
import { SidePanel } from '../../ui/SidePanel';
import { errorAdvice, describeCell, EMPTY_ADVICE, isEmptyResult, isErrorStatus } from '../model/cellStatus';
import { columnIcon } from '../model/columnIcon';
import { readRow } from '../rows/readRow';
import type { PanelTarget } from '../state/panelTarget';
import type { Table } from '../state/useTable';
import { CellValue } from './CellValue';
import { MetaList } from './MetaList';

interface Props {
  table: Table;
  rowId: string;
  columnId: string;
  onOpen: (target: PanelTarget) => void;
  onClose: () => void;
}

const STATES: Record<CellStatus, { label: string; color: string }> = {
  idle: { label: 'Not run yet', color: 'gray' },
  queued: { label: 'Queued', color: 'gray' },
  generating: { label: 'Running', color: 'mill' },
  completed: { label: 'Done', color: 'mill' },
  error: { label: 'Failed', color: 'red' },
  skipped: { label: 'Skipped', color: 'yellow' },
};

const RETRYING = { label: 'Waiting to retry', color: 'orange' };
const EMPTY = { label: 'Nothing found', color: 'gray' };

/** Cell details: value, status and history. */
export function CellPanel({ table, rowId, columnId, onOpen, onClose }: Props) {
  const row = useLiveRow(table, rowId);
  const column = table.columns.find((candidate) => candidate.id === columnId);
  if (!column) return null;
  const cell: Cell = row?.cells[columnId] ?? { value: null, status: 'idle' };
  const index = table.store.indexOf(rowId);
  const isRun = isProcessed(column);

  return (
    <SidePanel
      title={index === undefined ? column.header : `Row ${index + 1}`}
      icon={columnIcon(column)}
      onClose={onClose}
      footer={
        isRun && (
          <>
            <Button variant="default" onClick={() => onOpen({ kind: 'column', columnId })}>
              Configure column
            </Button>
            <Button onClick={() => void table.runs.run({ rowIds: [rowId], columnIds: [columnId], force: true })}>
              {cell.status === 'idle' ? 'Run this cell' : 'Run this cell again'}
            </Button>
          </>
        )
      }
    >
      <Stack gap="md">
        <Select
          aria-label="Column"
          data={table.columns.map(({ id, header }) => ({ value: id, label: header }))}
          value={columnId}
          allowDeselect={false}
          onChange={(id) => id && onOpen({ kind: 'cell', rowId, columnId: id })}
        />
        {isRun && <State cell={cell} />}
        <CellValue table={table} column={column} value={cell.value} />
        {isRun && <History cell={cell} column={column} />}
      </Stack>
    </SidePanel>
  );
}

function State({ cell }: { cell: Cell }) {
  const isEmpty = isEmptyResult(cell);
  const { label, color } = cell.retryAt && cell.status === 'queued' ? RETRYING : isEmpty ? EMPTY : STATES[cell.status];
  const now = useClock(cell.retryAt !== undefined);
  return (
    <Stack gap="xs">
      <Group gap={6}>
        <Badge variant="light" color={color}>
          {label}
        </Badge>
        {cell.manual && <Badge variant="light" color="indigo">Edited manually</Badge>}
        {cell.stale && <Badge variant="light" color="orange">Out of date</Badge>}
      </Group>
      {cell.status === 'queued' && cell.retryAt ? (
        <Text size="sm">{describeCell(cell, now)}</Text>
      ) : cell.error ? (
        <Alert color={cell.status === 'error' ? 'red' : 'yellow'} title={cell.error.message} variant="light">
          {errorAdvice(cell.error.code)}
        </Alert>
      ) : isEmpty && isErrorStatus(cell.meta) ? (
        <Alert color="yellow" title={describeCell(cell, now)} variant="light">
          {EMPTY_ADVICE}
        </Alert>
      ) : (
        (cell.manual || cell.stale || isEmpty) && (
          <Text size="sm" c="dimmed">
            {describeCell(cell, now)}
          </Text>
        )
      )}
    </Stack>
  );
}

function History({ cell, column }: { cell: Cell; column: Column }) {
  const facts = [
    cell.attempts !== undefined && pluralize(cell.attempts, 'attempt'),
    cell.updatedAt && `last changed ${timeAgo(cell.updatedAt)}`,
  ].filter(Boolean);
  return (
    <div>
      <Text size="sm" fw={620} mb={4}>
        History
      </Text>
      <Text size="sm" c="dimmed" mb={6}>
        {facts.length > 0 ? `Column “${column.header}”: ${facts.join(', ')}.` : 'No runs yet.'}
      </Text>
      {cell.meta && <MetaList meta={cell.meta} />}
    </div>
  );
}

/** The current time, updated every second while `isTicking`. */
function useClock(isTicking: boolean): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!isTicking) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}

/** The full row, kept current by the table's events. */
function useLiveRow(table: Table, rowId: string): Row | undefined {
  const { store, project } = table;
  const atHand = () => {
    const index = store.indexOf(rowId);
    return index === undefined ? undefined : store.rowAt(index);
  };
  const [row, setRow] = useState(atHand);
  useEffect(() => {
    let isOver = false;
    readRow(project.id, rowId)
      .then((full) => {
        if (isOver) return;
        setRow(full);
        store.patch([full]);
      })
      .catch((error: unknown) => !isOver && notifyError(error));
    const unsubscribe = store.subscribe(() => setRow((old) => merge(old, atHand())));
    return () => {
      isOver = true;
      unsubscribe();
    };
  }, [store, project.id, rowId]);
  return row;
}

/** Lists have fewer details per cell than a single row. Keeps the known details while the cell is unchanged. */
function merge(old: Row | undefined, now: Row | undefined): Row | undefined {
  if (!old || !now) return now ?? old;
  const cells = Object.entries(now.cells).map(([columnId, cell]) => {
    const before = old.cells[columnId];
    const isSame = before?.status === cell.status && JSON.stringify(before.value) === JSON.stringify(cell.value);
    if (!isSame) return [columnId, cell] as const;
    // Lists do include retries, so a missing retry is over.
    const { retryAt: _, ...lasting } = before;
    return [columnId, { ...lasting, ...cell }] as const;
  });
  return { ...now, cells: Object.fromEntries(cells) };
}
