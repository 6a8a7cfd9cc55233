import { client, data } from '../../api/client';
import type { Cell, Column, Json, Row } from '../../api/types';
import { isProcessed } from '../../api/types';
import type { RowStore } from './rowStore';
import { type CellEdit, type Step, UndoStack } from './undo';

const BATCH_MAX = 10_000;

export interface CellWrite {
  rowId: string;
  columnId: string;
  value: Json;
  /** What it was, where the row may be out of sight. */
  before?: Json;
}

interface Options {
  projectId: string;
  store: () => RowStore;
  columns: () => readonly Column[];
  onError: (error: unknown) => void;
  onChange: () => void;
}

/** What a person writes: shown at once, sent in order, taken back on failure, undone when asked. */
export class Editor {
  private readonly steps = new UndoStack();
  /** Rows being added have no id yet; what is written into them waits for it. */
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

  /** Writes cells and adds rows as one step. */
  change(writes: readonly CellWrite[], added: readonly Record<string, Json>[] = []): Promise<void> {
    const cells = writes
      .map((write): CellEdit => {
        const { rowId, columnId, value, before = this.valueOf(write) } = write;
        return { rowId, columnId, before, after: value };
      })
      .filter((edit) => !isSame(edit.before, edit.after));
    if (cells.length === 0 && added.length === 0) return Promise.resolve();
    this.show(cells, 'after');
    const rows = added.map((body) => this.provisional(body));
    if (rows.length > 0) this.options.store().startAdding(rows);
    return this.enqueue(async () => {
      const step: Step = { cells, madeRowIds: [] };
      try {
        await this.sendCells(cells, 'after');
      } catch (error) {
        // Reading again may fail as well; what was not saved must not look as if it was.
        this.show(cells, 'before');
        throw error;
      }
      step.madeRowIds = await this.sendRows(rows, added);
      rows.forEach((row, place) => {
        for (const [columnId, value] of Object.entries(added[place] ?? {})) {
          step.cells.push({ rowId: step.madeRowIds[place] ?? row.id, columnId, before: null, after: value });
        }
      });
      this.steps.push(step);
    });
  }

  undo(): Promise<void> {
    return this.enqueue(async () => {
      const step = this.steps.undo();
      if (!step) return;
      const isOfOldRow = (edit: CellEdit) => !step.madeRowIds.includes(edit.rowId);
      const cells = step.cells.filter(isOfOldRow);
      this.show(cells, 'before');
      await this.sendCells(cells, 'before');
      if (step.madeRowIds.length > 0) await deleteRows(this.options.projectId, step.madeRowIds);
    });
  }

  redo(): Promise<void> {
    return this.enqueue(async () => {
      const step = this.steps.redo();
      if (!step) return;
      const bodies = step.madeRowIds.map((rowId) =>
        Object.fromEntries(step.cells.filter((edit) => edit.rowId === rowId).map((edit) => [edit.columnId, edit.after])),
      );
      const cells = step.cells.filter((edit) => !step.madeRowIds.includes(edit.rowId));
      this.show(cells, 'after');
      await this.sendCells(cells, 'after');
      const ids = await insertRows(this.options.projectId, bodies);
      this.steps.rename(new Map(step.madeRowIds.map((old, place) => [old, ids[place] ?? old])));
    });
  }

  private enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.queue.then(work).catch((error: unknown) => {
      this.options.store().refresh();
      this.options.onError(error);
    });
    this.queue = done;
    return done.then(() => this.options.onChange());
  }

  private valueOf({ rowId, columnId }: CellWrite): Json {
    const index = this.options.store().indexOf(rowId);
    const row = index === undefined ? undefined : this.options.store().rowAt(index);
    return row?.cells[columnId]?.value ?? null;
  }

  private show(cells: readonly CellEdit[], side: 'before' | 'after'): void {
    const processed = new Set(this.options.columns().filter(isProcessed).map((column) => column.id));
    const rows = new Map<string, Row>();
    for (const edit of cells) {
      const row = rows.get(edit.rowId) ?? { id: edit.rowId, cells: {} };
      row.cells[edit.columnId] = written(edit[side], processed.has(edit.columnId));
      rows.set(edit.rowId, row);
    }
    this.options.store().patch([...rows.values()]);
  }

  private async sendCells(cells: readonly CellEdit[], side: 'before' | 'after'): Promise<void> {
    const { projectId } = this.options;
    for (let start = 0; start < cells.length; start += BATCH_MAX) {
      const batch = cells.slice(start, start + BATCH_MAX);
      for (const edit of batch) edit.rowId = await (this.ids.get(edit.rowId) ?? edit.rowId);
      await data(
        client.PATCH('/v4/projects/{projectId}/cells', {
          params: { path: { projectId } },
          body: { cells: batch.map((edit) => ({ rowId: edit.rowId, columnId: edit.columnId, value: edit[side] })) },
        }),
      );
    }
  }

  private provisional(body: Record<string, Json>): Row {
    const cells = Object.entries(body).map(([columnId, value]) => [columnId, written(value, false)] as const);
    return { id: `new_${++this.made}`, cells: Object.fromEntries(cells) };
  }

  private async sendRows(rows: readonly Row[], bodies: readonly Record<string, Json>[]): Promise<string[]> {
    if (rows.length === 0) return [];
    const sent = insertRows(this.options.projectId, bodies);
    rows.forEach((row, place) => this.ids.set(row.id, sent.then((ids) => ids[place] ?? row.id)));
    try {
      const ids = await sent;
      this.options.store().finishAdding(rows, ids);
      return ids;
    } catch (error) {
      this.options.store().finishAdding(rows, undefined);
      throw error;
    }
  }
}

async function insertRows(projectId: string, bodies: readonly Record<string, Json>[]): Promise<string[]> {
  const ids: string[] = [];
  for (let start = 0; start < bodies.length; start += BATCH_MAX) {
    const answer = await data(
      client.POST('/v4/projects/{projectId}/rows', {
        params: { path: { projectId } },
        body: { rows: bodies.slice(start, start + BATCH_MAX) },
      }),
    );
    ids.push(...answer.rows);
  }
  return ids;
}

export async function deleteRows(projectId: string, rowIds: readonly string[]): Promise<number> {
  const answer = await data(
    client.DELETE('/v4/projects/{projectId}/rows', { params: { path: { projectId } }, body: { rowIds: [...rowIds] } }),
  );
  return answer.deletedCount;
}

function written(value: Json, isProcessedColumn: boolean): Cell {
  if (!isProcessedColumn || value === null) return { value, status: 'idle' };
  return { value, status: 'completed', manual: true };
}

function isSame(a: Json, b: Json): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
