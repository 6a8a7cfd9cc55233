import { stringifyJson } from '../../api/exactNumber';
import type { Column, Json, Row } from '../../api/types';
import type { RowBody } from './rowApi';

export interface CellEdit {
  rowId: string;
  columnId: string;
  before: Json;
  after: Json;
  /** The old value was computed, not a manual edit. */
  wasFilled?: boolean;
}

export interface DeletedRow {
  id: string;
  body?: RowBody;
}

/** One undoable step: cells written, rows added, or rows deleted. */
export interface UndoStep {
  cells: CellEdit[];
  /** Rows that this step added. */
  madeRowIds: string[];
  /** Added rows that the undo deleted. */
  goneRowIds?: string[] | undefined;
  /** Number of columns created for this step. An undo keeps them. */
  madeColumns?: number;
  /** Rows that this step deleted, with their values if they were loaded. */
  deletedRows?: DeletedRow[];
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

  /** Undoes the last step, or the given one if it is not undone yet. */
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

  /** Replaces row ids: rows that are created again get new ones. */
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

/** The edits of rows that existed before the step. */
export function editsOfOldRows({ cells, madeRowIds }: UndoStep): CellEdit[] {
  const made = new Set(madeRowIds);
  return cells.filter((edit) => !made.has(edit.rowId));
}

/** The values of the rows that a step added, by row id. */
export function madeBodies({ cells, madeRowIds }: UndoStep): Map<string, RowBody> {
  const bodies = new Map<string, RowBody>(madeRowIds.map((id) => [id, {}]));
  for (const { rowId, columnId, after } of cells) {
    const body = bodies.get(rowId);
    if (body) body[columnId] = after;
  }
  return bodies;
}

/** The edits whose cells still have the value of `side`, so nobody has changed them or deleted their column. */
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

/** The values of computed columns in rows that were created again. */
export function filledIn(rows: readonly DeletedRow[], processed: ReadonlySet<string>): CellEdit[] {
  return rows.flatMap(({ id, body }) =>
    Object.entries(body ?? {})
      .filter(([columnId]) => processed.has(columnId))
      .map(([columnId, before]): CellEdit => ({ rowId: id, columnId, before, after: null })),
  );
}

/** A row's values without columns that were deleted since. */
export function withoutOldColumns(body: RowBody, columns: readonly Column[]): RowBody {
  const there = columns.filter(({ id }) => id in body);
  return Object.fromEntries(there.map(({ id }) => [id, body[id] ?? null]));
}

/** Whether nobody has edited a row since it was added. Computed values do not count. */
export function isAsMade(row: Row, body: RowBody, columns: readonly Column[]): boolean {
  const written = columns.filter((column) => column.type === 'manual');
  return written.every(({ id }) => isSame(row.cells[id]?.value ?? null, body[id] ?? null));
}

/** The values needed to create a row again. */
export function bodyOf(row: Row, columns: readonly Column[]): RowBody {
  const kept = columns.filter(({ id, type }) => type !== 'reference' && (row.cells[id]?.value ?? null) !== null);
  return Object.fromEntries(kept.map(({ id }) => [id, row.cells[id]?.value ?? null]));
}

export function isSame(a: Json, b: Json): boolean {
  return a === b || stringifyJson(a) === stringifyJson(b);
}
