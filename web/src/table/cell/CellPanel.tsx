import { ActionIcon, Alert, Badge, Button, Group, Select, Stack, Text, Tooltip } from '@mantine/core';
import { useCallback, useEffect, useState } from 'react';
import { stringifyJson } from '../../api/exactNumber';
import type { Cell, CellStatus, Row } from '../../api/types';
import { isProcessed } from '../../api/types';
import { formatNumber } from '../../ui/format';
import { Icon } from '../../ui/Icon';
import { notifyError } from '../../ui/notify';
import { SidePanel } from '../../ui/SidePanel';
import { cellSelection, type Selection } from '../grid/selection';
import { errorAdvice, describeCell, EMPTY_ADVICE, isEmptyResult, isErrorStatus } from '../model/cellStatus';
import { columnIcon } from '../model/columnIcon';
import { readRow } from '../rows/readRow';
import type { PanelTarget } from '../state/panelTarget';
import type { Table } from '../state/useTable';
import { CellHistory } from './CellHistory';
import { type Step, STEPS, stepFrom } from './cellSteps';
import { CellValue } from './CellValue';
import { FanOutNote } from './FanOutNote';
import { ReferenceNote } from './ReferenceNote';

interface Props {
  table: Table;
  rowId: string;
  columnId: string;
  onOpen: (target: PanelTarget) => void;
  /** Selects another cell in the grid; the panel follows. */
  onSelect: (selection: Selection) => void;
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

/** Cell details: value, status and history. They follow the selection in the grid. */
export function CellPanel({ table, rowId, columnId, onOpen, onSelect, onClose }: Props) {
  const { row, reread } = useLiveRow(table, rowId);
  const column = table.columns.find((candidate) => candidate.id === columnId);
  if (!column) return null;
  const cell: Cell = row?.cells[columnId] ?? { value: null, status: 'idle' };
  const index = table.store.indexOf(rowId);
  const isRun = isProcessed(column);
  const next = (step: Step) => stepFrom(table, rowId, columnId, step);
  const choose = (id: string) => {
    const isShown = index !== undefined && table.shownColumns.some((shown) => shown.id === id);
    if (isShown) onSelect(cellSelection(index, id, table.shownColumns));
    onOpen({ kind: 'cell', rowId, columnId: id });
  };

  return (
    <SidePanel
      title={index === undefined ? column.header : `Row ${formatNumber(index + 1)}`}
      icon={columnIcon(column)}
      actions={<StepButtons next={next} onSelect={onSelect} />}
      onKey={(key) => {
        const step = STEPS[key];
        const selection = step && next(step);
        if (selection) onSelect(selection);
        return step !== undefined;
      }}
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
          onChange={(id) => id && choose(id)}
        />
        {isRun && <State cell={cell} />}
        {column.type === 'reference' && <ReferenceNote column={column} row={row} onConfigure={() => onOpen({ kind: 'column', columnId })} />}
        {cell.status === 'completed' && <FanOutNote column={column} />}
        <CellValue key={`${rowId} ${columnId}`} table={table} column={column} rowId={rowId} cell={cell} onSaved={reread} />
        {isRun && <CellHistory cell={cell} />}
      </Stack>
    </SidePanel>
  );
}

interface StepButtonsProps {
  next: (step: Step) => Selection | undefined;
  onSelect: (selection: Selection) => void;
}

function StepButtons({ next, onSelect }: StepButtonsProps) {
  const button = (label: string, key: 'ArrowUp' | 'ArrowDown', icon: 'arrowUp' | 'arrowDown', sign: string) => {
    const selection = next(STEPS[key] as Step);
    return (
      <Tooltip label={`${label} · ${sign}`}>
        <ActionIcon variant="subtle" color="gray" aria-label={label} disabled={!selection} onClick={() => selection && onSelect(selection)}>
          <Icon name={icon} size={16} />
        </ActionIcon>
      </Tooltip>
    );
  };
  return (
    <>
      {button('Previous row', 'ArrowUp', 'arrowUp', '↑')}
      {button('Next row', 'ArrowDown', 'arrowDown', '↓')}
    </>
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
function useLiveRow(table: Table, rowId: string): { row: Row | undefined; reread: () => void } {
  const { store, project } = table;
  const atHand = useCallback(() => {
    const index = store.indexOf(rowId);
    return index === undefined ? undefined : store.rowAt(index);
  }, [store, rowId]);
  const [read, setRead] = useState(atHand);
  const [rounds, setRounds] = useState(0);
  useEffect(() => {
    let isOver = false;
    readRow(project.id, rowId)
      .then((full) => {
        if (isOver) return;
        setRead(full);
        store.patch([full]);
      })
      .catch((error: unknown) => !isOver && notifyError(error));
    const unsubscribe = store.subscribe(() => setRead((old) => merge(old?.id === rowId ? old : undefined, atHand())));
    return () => {
      isOver = true;
      unsubscribe();
    };
  }, [store, project.id, rowId, atHand, rounds]);
  // Until the details of the next row arrive, the panel shows what the grid knows of it.
  return { row: read?.id === rowId ? read : atHand(), reread: () => setRounds((old) => old + 1) };
}

/** Lists have fewer details per cell than a single row. Keeps the known details while the cell is unchanged. */
function merge(old: Row | undefined, now: Row | undefined): Row | undefined {
  if (!old || !now) return now ?? old;
  const cells = Object.entries(now.cells).map(([columnId, cell]) => {
    const before = old.cells[columnId];
    const isSame = before?.status === cell.status && stringifyJson(before.value) === stringifyJson(cell.value);
    if (!isSame) return [columnId, cell] as const;
    // Lists do include retries, so a missing retry is over.
    const { retryAt: _, ...lasting } = before;
    return [columnId, { ...lasting, ...cell }] as const;
  });
  return { ...now, cells: Object.fromEntries(cells) };
}
