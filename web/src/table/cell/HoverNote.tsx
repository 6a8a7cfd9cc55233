import { Paper, Text } from '@mantine/core';
import { type RefObject, useEffect, useState } from 'react';
import type { Cell } from '../../api/types';
import { isProcessed } from '../../api/types';
import classes from '../../ui/Note.module.css';
import type { HoveredCell } from '../grid/gridTypes';
import { errorAdvice, describeCell, EMPTY_ADVICE, isEmptyResult, isErrorStatus } from '../model/cellStatus';
import { readRow } from '../rows/readRow';
import type { Table } from '../state/useTable';

const DELAY_MILLISECONDS = 350;
/** Events that hide the tooltip. */
const ENOUGH = ['keydown', 'mousedown', 'wheel', 'scroll'] as const;

interface Props {
  table: Table;
  hovered: HoveredCell | undefined;
  frame: RefObject<HTMLElement | null>;
}

/** Tooltip of a cell: why it failed, and what to do. */
export function HoverNote({ table, hovered, frame }: Props) {
  const [shown, setShown] = useState<HoveredCell>();
  const key = hovered && `${hovered.rowIndex}:${hovered.columnId}`;

  useEffect(() => {
    setShown(undefined);
    if (!hovered || !needsNote(table, hovered)) return;
    let isOver = false;
    const timer = setTimeout(async () => {
      const cell = await fullCell(table, hovered);
      if (!isOver) setShown({ ...hovered, cell });
    }, DELAY_MILLISECONDS);
    const cancel = () => {
      isOver = true;
      clearTimeout(timer);
    };
    for (const event of ENOUGH) window.addEventListener(event, cancel, { capture: true, once: true });
    return () => {
      for (const event of ENOUGH) window.removeEventListener(event, cancel, true);
      cancel();
    };
    // Moving within the same cell is not a new hover.
  }, [key]);

  useEffect(() => {
    const hide = () => setShown(undefined);
    for (const event of ENOUGH) window.addEventListener(event, hide, true);
    return () => {
      for (const event of ENOUGH) window.removeEventListener(event, hide, true);
    };
  }, []);

  if (!shown) return null;
  const { cell, bounds } = shown;
  const place = frame.current?.getBoundingClientRect();
  const left = Math.min(bounds.x + 8, (place?.right ?? window.innerWidth) - 350);
  const isLow = bounds.y + bounds.height + 140 > window.innerHeight;
  return (
    <Paper
      className={classes.note}
      withBorder
      shadow="md"
      role="tooltip"
      style={{ left, ...(isLow ? { bottom: window.innerHeight - bounds.y + 4 } : { top: bounds.y + bounds.height + 4 }) }}
    >
      <Text size="sm" fw={600} c={cell.status === 'error' ? 'red' : undefined} lineClamp={6}>
        {describeCell(cell)}
      </Text>
      {cell.error && !cell.retryAt && (
        <Text size="sm" mt={4}>
          {errorAdvice(cell.error.code)}
        </Text>
      )}
      {isEmptyResult(cell) && isErrorStatus(cell.meta) && (
        <Text size="sm" mt={4}>
          {EMPTY_ADVICE}
        </Text>
      )}
      {cell.retryAt && (
        <Text size="xs" c="dimmed" mt={4}>
          Next try at {new Date(cell.retryAt).toLocaleTimeString()}
        </Text>
      )}
    </Paper>
  );
}

function needsNote(table: Table, { cell, columnId }: HoveredCell): boolean {
  const column = table.columns.find((candidate) => candidate.id === columnId);
  if (!column || !isProcessed(column)) return false;
  return cell.status === 'error' || cell.status === 'skipped' || Boolean(cell.stale || cell.manual || cell.retryAt) || isEmptyResult(cell);
}

/** Fetches a cell's error and metadata, which lists do not include. */
async function fullCell(table: Table, { cell, rowIndex, columnId }: HoveredCell): Promise<Cell> {
  const row = table.store.rowAt(rowIndex);
  const isTold = cell.error ?? cell.meta;
  if (isTold || !row || (cell.status !== 'error' && cell.status !== 'skipped' && !isEmptyResult(cell))) return cell;
  const full = await readRow(table.project.id, row.id).catch(() => undefined);
  if (full) table.store.patch([full]);
  return full?.cells[columnId] ?? cell;
}
