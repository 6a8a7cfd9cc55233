import type { Cell, Column, Json, Row } from '../../api/types';
import { isProcessed } from '../../api/types';
import { isBeingAdded, newIdempotencyKey, rowNotAddedError, optimisticRow, writtenCell } from './optimisticRow';
import type { OnSent, RowBody, RowApi } from './rowApi';
import type { RowStore } from './rowStore';
import {
  bodyOf,
  type CellEdit,
  type DeletedRow,
  editsOfOldRows,
  filledIn,
  isAsMade,
  isSame,
  madeBodies,
  type UndoStep,
  unchangedSince,
  UndoStack,
  withoutOldColumns,
} from './undo';

export interface CellWrite {
  rowId: string;
  columnId: string;
  value: Json;
  /** The old cell, for rows that may not be loaded. */
  before?: Cell | undefined;
}

/** The result of an undo or redo. */
export interface UndoResult {
  /** Cells that were left alone, because somebody has changed them since. */
  skippedCells: number;
  /** Rows that were not deleted, because somebody has changed them since. */
  keptRows: number;
  /** Columns that the step created. An undo keeps them. */
  keptColumns: number;
  /** Deleted rows that were created again, because they were not in the trash any more. */
  recreatedRows: number;
  /** Deleted rows that stay in the trash, because their guest has another row. */
  unrestoredRows: number;
  /** Computed values that now count as manual edits. */
  manualCells: CellEdit[];
}

interface ChangeOptions {
  onProgress?: ((sent: number, all: number) => void) | undefined;
  /** Number of columns created for this step. */
  madeColumns?: number;
  /** Set for a retry: the optimistic rows, the idempotency key, and how many rows the service already has. */
  rows?: Row[];
  name?: string;
  sentBefore?: number;
}

interface Options {
  api: RowApi;
  store: () => Pick<RowStore, 'indexOf' | 'rowAt' | 'patch' | 'startAdding' | 'finishAdding' | 'refresh'>;
  columns: () => readonly Column[];
  /** `again` retries a failed edit. */
  onError: (error: unknown, again?: () => void) => void;
  onChange: () => void;
  onUndone: (undone: UndoResult) => void;
}

/** Optimistic editor: edits are shown at once, sent in order, rolled back on failure, and can be undone. */
export class Editor {
  private readonly steps = new UndoStack();
  /** Ids of rows being added, by temporary id. Writes to such a row wait for its real id. */
  private readonly ids = new Map<string, Promise<string>>();
  private queue: Promise<unknown> = Promise.resolve();
  private made = 0;

  constructor(private readonly options: Options) {}

  get canUndo(): boolean {
    return this.steps.canUndo;
  }

  get canRedo(): boolean {
    return this.steps.canRedo;
  }

  /** Writes cells and adds rows as one undoable step. Returns whether all of it was saved; if not, the user has seen the error. */
  change(writes: readonly CellWrite[], added: readonly RowBody[] = [], options: ChangeOptions = {}): Promise<boolean> {
    const { onProgress, madeColumns = 0, name = newIdempotencyKey(), sentBefore = 0 } = options;
    const cells = this.editsOf(writes);
    if (cells.length === 0 && added.length === 0) return Promise.resolve(true);
    this.show(cells, 'after');
    const rows = options.rows ?? added.map((body) => optimisticRow(++this.made, body));
    const all = cells.length + rows.length;
    if (rows.length > 0) this.options.store().startAdding(rows);
    const step: UndoStep = { cells: [], madeRowIds: [], madeColumns };
    const work = async () => {
      try {
        await this.sendCells(cells, 'after', (sent) => onProgress?.(sent, all));
      } catch (error) {
        // Rolls back here, because a refetch may fail too, and unsaved values must not look saved.
        this.show(cells, 'before');
        if (rows.length > 0) this.options.store().finishAdding(rows, undefined);
        throw error;
      }
      step.cells.push(...cells);
      const onSent = (sent: number) => onProgress?.(cells.length + sent, all);
      try {
        await this.sendRows(rows, added, step.madeRowIds, onSent, (sent) => `${name}-${sentBefore + sent}`);
      } finally {
        // Rows saved before the failure can be undone too.
        step.madeRowIds.forEach((rowId, place) => {
          for (const [columnId, after] of Object.entries(added[place] ?? {})) step.cells.push({ rowId, columnId, before: null, after });
        });
        if (step.cells.length > 0 || step.madeRowIds.length > 0) this.steps.push(step);
      }
    };
    // The service may have saved rows although no response came, so a retry sends the same idempotency keys.
    const again = () => {
      const taken = step.madeRowIds.length;
      const isBegun = step.cells.length > 0;
      const rest = { rows: rows.slice(taken), name, sentBefore: sentBefore + taken };
      void this.change(isBegun ? [] : writes, added.slice(taken), { onProgress, madeColumns: isBegun ? 0 : madeColumns, ...rest });
    };
    return this.enqueue(work, again);
  }

  /** Deletes rows as an undoable step. */
  remove(rows: readonly Row[]): Promise<UndoStep | undefined> {
    const columns = this.options.columns();
    return this.removeAll(rows.map((row) => ({ id: row.id, body: bodyOf(row, columns) })));
  }

  /** The same for rows that may not be loaded. */
  async removeAll(deletedRows: DeletedRow[]): Promise<UndoStep | undefined> {
    const step: UndoStep = { cells: [], madeRowIds: [], deletedRows };
    const isDone = await this.enqueue(async () => {
      await this.options.api.deleteRows(deletedRows.map(({ id }) => id));
      this.steps.push(step);
    });
    return isDone ? step : undefined;
  }

  /** Undoes the last step, or the given one. */
  undo(wanted?: UndoStep): Promise<boolean> {
    return this.enqueue(async () => {
      const step = this.steps.undo(wanted);
      if (!step) return;
      const edits = editsOfOldRows(step);
      const rows = await this.currentRows([...edits.map(({ rowId }) => rowId), ...step.madeRowIds]);
      const open = unchangedSince(edits, 'after', rows, this.options.columns());
      await this.rewrite(open, 'before');
      const bodies = madeBodies(step);
      const there = step.madeRowIds.filter((id) => rows.has(id));
      const isLeft = (id: string) => isAsMade(rows.get(id) as Row, bodies.get(id) ?? {}, this.options.columns());
      const gone = there.filter(isLeft);
      if (gone.length > 0) await this.options.api.deleteRows(gone);
      step.goneRowIds = gone;
      const { recreated, unrestoredRows } = await this.restoreRows(step.deletedRows ?? []);
      const manualCells = [...open.filter((edit) => edit.wasFilled && edit.before !== null), ...filledIn(recreated, this.processed())];
      const kept = { keptRows: there.length - gone.length, keptColumns: step.madeColumns ?? 0 };
      const restored = { recreatedRows: recreated.length, unrestoredRows };
      this.options.onUndone({ skippedCells: edits.length - open.length, ...kept, ...restored, manualCells });
    });
  }

  redo(): Promise<boolean> {
    return this.enqueue(async () => {
      const step = this.steps.redo();
      if (!step) return;
      const edits = editsOfOldRows(step);
      const rows = await this.currentRows(edits.map(({ rowId }) => rowId));
      const open = unchangedSince(edits, 'before', rows, this.options.columns());
      await this.rewrite(open, 'after');
      const bodies = madeBodies(step);
      await this.restoreRows((step.goneRowIds ?? []).map((id) => ({ id, body: bodies.get(id) ?? {} })));
      if (step.deletedRows) await this.options.api.deleteRows(step.deletedRows.map(({ id }) => id));
      const nothing = { keptRows: 0, keptColumns: 0, recreatedRows: 0, unrestoredRows: 0 };
      this.options.onUndone({ skippedCells: edits.length - open.length, ...nothing, manualCells: [] });
    });
  }

  private enqueue(work: () => Promise<void>, again?: () => void): Promise<boolean> {
    const done = this.queue.then(work).then(
      () => true,
      (error: unknown) => {
        this.options.store().refresh();
        this.options.onError(error, again);
        return false;
      },
    );
    this.queue = done;
    return done.then((isDone) => {
      this.options.onChange();
      return isDone;
    });
  }

  private editsOf(writes: readonly CellWrite[]): CellEdit[] {
    const processed = this.processed();
    return writes
      .map((write): CellEdit => {
        const { rowId, columnId, value, before = this.loadedRow(write.rowId)?.cells[columnId] } = write;
        const wasFilled = processed.has(columnId) && before?.manual !== true;
        return { rowId, columnId, before: before?.value ?? null, after: value, wasFilled };
      })
      .filter((edit) => !isSame(edit.before, edit.after));
  }

  private loadedRow(rowId: string): Row | undefined {
    const index = this.options.store().indexOf(rowId);
    return index === undefined ? undefined : this.options.store().rowAt(index);
  }

  private processed(): Set<string> {
    return new Set(this.options.columns().filter(isProcessed).map((column) => column.id));
  }

  private async currentRows(rowIds: readonly string[]): Promise<Map<string, Row>> {
    const rows = new Map<string, Row>();
    const far: string[] = [];
    for (const rowId of new Set(rowIds)) {
      const row = this.loadedRow(rowId);
      if (row) rows.set(rowId, row);
      else far.push(rowId);
    }
    if (far.length > 0) for (const [rowId, row] of await this.options.api.readRows(far)) rows.set(rowId, row);
    return rows;
  }

  private async rewrite(edits: readonly CellEdit[], side: 'before' | 'after'): Promise<void> {
    this.show(edits, side);
    await this.sendCells(edits, side);
  }

  /**
   * Restores deleted rows from the trash: they are what they were. Those that are not there any more are created again;
   * they get new ids and come last.
   */
  private async restoreRows(rows: readonly DeletedRow[]): Promise<{ recreated: DeletedRow[]; unrestoredRows: number }> {
    if (rows.length === 0) return { recreated: [], unrestoredRows: 0 };
    const { restored, kept } = await this.options.api.restoreRows(rows.map(({ id }) => id));
    if (restored > 0) this.options.store().refresh();
    const unrestoredRows = kept.length;
    if (restored + kept.length >= rows.length) return { recreated: [], unrestoredRows };
    const there = await this.options.api.readRows(rows.map(({ id }) => id));
    const lost = rows.filter(({ id, body }) => body && !there.has(id) && !kept.includes(id));
    return { recreated: await this.recreateRows(lost), unrestoredRows };
  }

  private async recreateRows(rows: readonly DeletedRow[]): Promise<DeletedRow[]> {
    if (rows.length === 0) return [];
    const ids: string[] = [];
    try {
      await this.options.api.insertRows(rows.map(({ body = {} }) => withoutOldColumns(body, this.options.columns())), ids);
    } finally {
      this.steps.rename(new Map(ids.map((id, place) => [rows[place]?.id ?? id, id])));
    }
    return rows.slice(0, ids.length).map((row, place) => ({ ...row, id: ids[place] ?? row.id }));
  }

  private show(cells: readonly CellEdit[], side: 'before' | 'after'): void {
    const processed = this.processed();
    const rows = new Map<string, Row>();
    for (const edit of cells) {
      const row = rows.get(edit.rowId) ?? { id: edit.rowId, cells: {} };
      row.cells[edit.columnId] = writtenCell(edit[side], processed.has(edit.columnId));
      rows.set(edit.rowId, row);
    }
    this.options.store().patch([...rows.values()]);
  }

  private async sendCells(cells: readonly CellEdit[], side: 'before' | 'after', onSent?: OnSent): Promise<void> {
    for (const edit of cells) edit.rowId = await (this.ids.get(edit.rowId) ?? edit.rowId);
    if (cells.some(({ rowId }) => isBeingAdded(rowId))) throw rowNotAddedError();
    const writes = cells.map((edit) => ({ rowId: edit.rowId, columnId: edit.columnId, value: edit[side] }));
    await this.options.api.writeCells(writes, onSent);
  }

  private async sendRows(
    rows: readonly Row[],
    bodies: readonly RowBody[],
    ids: string[],
    onSent: OnSent,
    name: (sent: number) => string,
  ): Promise<void> {
    if (rows.length === 0) return;
    const sent = this.options.api.insertRows(bodies, ids, onSent, name);
    const settled = sent.catch(() => {});
    rows.forEach((row, place) => this.ids.set(row.id, settled.then(() => ids[place] ?? row.id)));
    try {
      await sent;
    } finally {
      this.options.store().finishAdding(rows.slice(0, ids.length), ids);
      if (ids.length < rows.length) this.options.store().finishAdding(rows.slice(ids.length), undefined);
    }
  }
}
