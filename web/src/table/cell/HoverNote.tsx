import { Paper, Text } from '@mantine/core';
import { type RefObject, useEffect, useState } from 'react';
import type { Cell } from '../../api/types';
import { isProcessed } from '../../api/types';
import classes from '../../ui/Note.module.css';
import { misfitText } from '../formats/format';
import { isMisfit } from '../formats/reading';
import { linesIn } from '../grid/canvasText';
import type { HoveredCell } from '../grid/gridTypes';
import { ROW_HEIGHTS } from '../grid/rowHeights';
import { errorAdvice, describeCell, EMPTY_ADVICE, isEmptyResult, isErrorStatus } from '../model/cellStatus';
import { readRow } from '../rows/readRow';
import type { Table } from '../state/useTable';
import { needsPeek, ValuePeek } from './ValuePeek';

const DELAY_MILLISECONDS = 350;
/** A value waits longer than a reason: people pass over many cells on their way. */
const PEEK_DELAY_MILLISECONDS = 600;
/** Events that hide the tooltip. */
const ENOUGH = ['keydown', 'mousedown', 'wheel', 'scroll'] as const;

interface Props {
  table: Table;
  hovered: HoveredCell | undefined;
  frame: RefObject<HTMLElement | null>;
}

/** Tooltip of a cell: the value if the cell cuts it, why it failed, and what to do. */
export function HoverNote({ table, hovered, frame }: Props) {
  const [shown, setShown] = useState<HoveredCell>();
  const key = hovered && `${hovered.rowIndex}:${hovered.columnId}`;

  useEffect(() => {
    setShown(undefined);
    const isStatus = hovered !== undefined && needsNote(table, hovered);
    if (!hovered || !(isStatus || misfitIn(table, hovered) || isCut(table, hovered))) return;
    let isOver = false;
    const timer = setTimeout(async () => {
      const cell = await fullCell(table, hovered);
      if (!isOver) setShown({ ...hovered, cell });
    }, isStatus || misfitIn(table, hovered) ? DELAY_MILLISECONDS : PEEK_DELAY_MILLISECONDS);
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

  useHideOnInput(setShown);

  if (!shown) return null;
  const { cell, bounds } = shown;
  const place = frame.current?.getBoundingClientRect();
  const left = Math.max(8, Math.min(bounds.x + 8, (place?.right ?? window.innerWidth) - 430));
  const isLow = bounds.y + bounds.height / 2 > window.innerHeight * 0.55;
  const isStatus = needsNote(table, shown);
  const misfit = misfitIn(table, shown);
  return (
    <Paper
      className={classes.note}
      withBorder
      shadow="md"
      role="tooltip"
      style={{ left, ...(isLow ? { bottom: window.innerHeight - bounds.y + 4 } : { top: bounds.y + bounds.height + 4 }) }}
    >
      {isCut(table, shown) && <ValuePeek value={cell.value} />}
      {misfit && <Text size="sm" mt={isCut(table, shown) ? 8 : 0}>{misfit}</Text>}
      {isStatus && (
        <Text size="sm" fw={600} c={cell.status === 'error' ? 'red' : undefined} lineClamp={6} mt={isCut(table, shown) ? 8 : 0}>
          {describeCell(cell)}
        </Text>
      )}
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

/** Any other input hides the tooltip. */
function useHideOnInput(setShown: (shown: undefined) => void): void {
  useEffect(() => {
    const hide = () => setShown(undefined);
    for (const event of ENOUGH) window.addEventListener(event, hide, true);
    return () => {
      for (const event of ENOUGH) window.removeEventListener(event, hide, true);
    };
  }, [setShown]);
}

function needsNote(table: Table, { cell, columnId }: HoveredCell): boolean {
  const column = table.columns.find((candidate) => candidate.id === columnId);
  if (!column || !isProcessed(column)) return false;
  return cell.status === 'error' || cell.status === 'skipped' || Boolean(cell.stale || cell.manual || cell.retryAt) || isEmptyResult(cell);
}

/** What is wrong with a value that does not fit its column's type. */
function misfitIn(table: Table, { cell, columnId }: HoveredCell): string | undefined {
  const format = table.columns.find((candidate) => candidate.id === columnId)?.format;
  return format && isMisfit(cell.value, format) ? misfitText(format) : undefined;
}

/** Whether the cell shows only part of its value. */
function isCut(table: Table, { cell, bounds }: HoveredCell): boolean {
  if (cell.status !== 'idle' && cell.status !== 'completed') return false;
  return needsPeek(cell.value, bounds.width, linesIn(ROW_HEIGHTS[table.rowHeight]));
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
