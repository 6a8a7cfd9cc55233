import { client, data } from '../../api/client';
import type { Cell, Column, Json, Row } from '../../api/types';
import { isProcessed } from '../../api/types';
import type { RowStore } from './rowStore';
import { inBatches } from './batches';
import { type CellEdit, type Step, UndoStack } from './undo';

/** Told how many of the things to send are there already. */
export type OnProgress = (sent: number, all: number) => void;

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
  change(writes: readonly CellWrite[], added: readonly Record<string, Json>[] = [], onProgress?: OnProgress): Promise<void> {
    const cells = writes
      .map((write): CellEdit => {
        const { rowId, columnId, value, before = this.valueOf(write) } = write;
        return { rowId, columnId, before, after: value };
      })
      .filter((edit) => !isSame(edit.before, edit.after));
    if (cells.length === 0 && added.length === 0) return Promise.resolve();
    this.show(cells, 'after');
    const rows = added.map((body) => this.provisional(body));
    const all = cells.length + rows.length;
    const written = cells.length;
    if (rows.length > 0) this.options.store().startAdding(rows);
    return this.enqueue(async () => {
      const step: Step = { cells, madeRowIds: [] };
      try {
        await this.sendCells(cells, 'after', (sent) => onProgress?.(sent, all));
      } catch (error) {
        // Reading again may fail as well; what was not saved must not look as if it was.
        this.show(cells, 'before');
        throw error;
      }
      try {
        await this.sendRows(rows, added, step.madeRowIds, (sent) => onProgress?.(written + sent, all));
      } finally {
        // Rows that were taken before a failure can be taken back as well.
        step.madeRowIds.forEach((rowId, place) => {
          for (const [columnId, value] of Object.entries(added[place] ?? {})) {
            step.cells.push({ rowId, columnId, before: null, after: value });
          }
        });
        if (step.cells.length > 0 || step.madeRowIds.length > 0) this.steps.push(step);
      }
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

  private async sendCells(cells: readonly CellEdit[], side: 'before' | 'after', onSent?: (sent: number) => void): Promise<void> {
    const { projectId } = this.options;
    let sent = 0;
    for (const batch of inBatches(cells, (edit) => edit[side])) {
      for (const edit of batch) edit.rowId = await (this.ids.get(edit.rowId) ?? edit.rowId);
      await data(
        client.PATCH('/v4/projects/{projectId}/cells', {
          params: { path: { projectId } },
          body: { cells: batch.map((edit) => ({ rowId: edit.rowId, columnId: edit.columnId, value: edit[side] })) },
        }),
      );
      onSent?.((sent += batch.length));
    }
  }

  private provisional(body: Record<string, Json>): Row {
    const cells = Object.entries(body).map(([columnId, value]) => [columnId, written(value, false)] as const);
    return { id: `new_${++this.made}`, cells: Object.fromEntries(cells) };
  }

  /** Adds rows; the ids of those that were taken stand in `ids`, whatever happens. */
  private async sendRows(
    rows: readonly Row[],
    bodies: readonly Record<string, Json>[],
    ids: string[],
    onSent?: (sent: number) => void,
  ): Promise<void> {
    if (rows.length === 0) return;
    const sent = insertRows(this.options.projectId, bodies, ids, onSent);
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

async function insertRows(
  projectId: string,
  bodies: readonly Record<string, Json>[],
  ids: string[] = [],
  onSent?: (sent: number) => void,
): Promise<string[]> {
  for (const rows of inBatches(bodies, (body) => body)) {
    const answer = await data(client.POST('/v4/projects/{projectId}/rows', { params: { path: { projectId } }, body: { rows } }));
    ids.push(...answer.rows);
    onSent?.(ids.length);
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
