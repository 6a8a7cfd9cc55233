import type { Column, Json, Row } from '../../api/types';
import type { RowBody } from './rowApi';

export interface CellEdit {
  rowId: string;
  columnId: string;
  before: Json;
  after: Json;
  /** What stood there was filled in by the service, and not by hand. */
  wasFilled?: boolean;
}

/** One undoable step: cells written, rows added, or rows deleted. */
export interface UndoStep {
  cells: CellEdit[];
  /** Rows this step made. */
  madeRowIds: string[];
  /** Those of them that were deleted when it was taken back. */
  goneRowIds?: string[] | undefined;
  /** How many columns were made for it. They stay when it is taken back. */
  madeColumns?: number;
  /** Rows this step deleted, and what stood in them. */
  deletedRows?: { id: string; body: RowBody }[];
}

/** Undo and redo history, newest step last. */
export class UndoStack {
  private done: UndoStep[] = [];
  private undone: UndoStep[] = [];

  constructor(private readonly stepsMax = 200) {}

  get canUndo(): boolean {
    return this.done.length > 0;
  }

  get canRedo(): boolean {
    return this.undone.length > 0;
  }

  push(step: UndoStep): void {
    this.done.push(step);
    if (this.done.length > this.stepsMax) this.done.shift();
    this.undone = [];
  }

  /** The last step, or the one that is named, if it was not taken back yet. */
  undo(wanted = this.done.at(-1)): UndoStep | undefined {
    const step = this.done.find((candidate) => candidate === wanted);
    this.done = this.done.filter((candidate) => candidate !== step);
    if (step) this.undone.push(step);
    return step;
  }

  redo(): UndoStep | undefined {
    const step = this.undone.pop();
    if (step) this.done.push(step);
    return step;
  }

  /** Rows that were made again have new ids. */
  rename(ids: ReadonlyMap<string, string>): void {
    const renamed = (id: string) => ids.get(id) ?? id;
    for (const step of [...this.done, ...this.undone]) {
      step.madeRowIds = step.madeRowIds.map(renamed);
      step.goneRowIds = step.goneRowIds?.map(renamed);
      for (const cell of step.cells) cell.rowId = renamed(cell.rowId);
      for (const row of step.deletedRows ?? []) row.id = renamed(row.id);
    }
  }

  clear(): void {
    this.done = [];
    this.undone = [];
  }
}

/** The edits of rows that were there before the step. */
export function editsOfOldRows({ cells, madeRowIds }: UndoStep): CellEdit[] {
  const made = new Set(madeRowIds);
  return cells.filter((edit) => !made.has(edit.rowId));
}

/** What stood in the rows a step made, row by row. */
export function madeBodies({ cells, madeRowIds }: UndoStep): Map<string, RowBody> {
  const bodies = new Map<string, RowBody>(madeRowIds.map((id) => [id, {}]));
  for (const { rowId, columnId, after } of cells) {
    const body = bodies.get(rowId);
    if (body) body[columnId] = after;
  }
  return bodies;
}

/** The edits whose cells still hold what `side` says: nobody has changed them since, or deleted their column. */
export function unchangedSince(
  edits: readonly CellEdit[],
  side: 'before' | 'after',
  rows: ReadonlyMap<string, Row>,
  columns: readonly Column[],
): CellEdit[] {
  const there = new Set(columns.map(({ id }) => id));
  return edits.filter((edit) => {
    const row = rows.get(edit.rowId);
    return row !== undefined && there.has(edit.columnId) && isSame(row.cells[edit.columnId]?.value ?? null, edit[side]);
  });
}

/** What columns that fill themselves hold in rows that were made again. */
export function filledIn(rows: readonly { id: string; body: RowBody }[], processed: ReadonlySet<string>): CellEdit[] {
  return rows.flatMap(({ id, body }) =>
    Object.entries(body)
      .filter(([columnId]) => processed.has(columnId))
      .map(([columnId, before]): CellEdit => ({ rowId: id, columnId, before, after: null })),
  );
}

/** A row's body without columns that were deleted since. */
export function withoutOldColumns(body: RowBody, columns: readonly Column[]): RowBody {
  const there = columns.filter(({ id }) => id in body);
  return Object.fromEntries(there.map(({ id }) => [id, body[id] ?? null]));
}

/** Whether people have left a row as it was made. What the service filled in does not count. */
export function isAsMade(row: Row, body: RowBody, columns: readonly Column[]): boolean {
  const written = columns.filter((column) => column.type === 'manual');
  return written.every(({ id }) => isSame(row.cells[id]?.value ?? null, body[id] ?? null));
}

/** What is needed to make a row again. */
export function bodyOf(row: Row, columns: readonly Column[]): RowBody {
  const kept = columns.filter(({ id, type }) => type !== 'reference' && (row.cells[id]?.value ?? null) !== null);
  return Object.fromEntries(kept.map(({ id }) => [id, row.cells[id]?.value ?? null]));
}

export function isSame(a: Json, b: Json): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
