import type { Json } from '../../api/types';

export interface CellEdit {
  rowId: string;
  columnId: string;
  before: Json;
  after: Json;
}

/** One thing a person did: cells written, in rows that were made for them or were there. */
export interface Step {
  cells: CellEdit[];
  /** Rows this step made. */
  madeRowIds: string[];
}

/** What a person did and can take back, newest last. */
export class UndoStack {
  private done: Step[] = [];
  private undone: Step[] = [];

  constructor(private readonly stepsMax = 200) {}

  get canUndo(): boolean {
    return this.done.length > 0;
  }

  get canRedo(): boolean {
    return this.undone.length > 0;
  }

  push(step: Step): void {
    this.done.push(step);
    if (this.done.length > this.stepsMax) this.done.shift();
    this.undone = [];
  }

  undo(): Step | undefined {
    const step = this.done.pop();
    if (step) this.undone.push(step);
    return step;
  }

  redo(): Step | undefined {
    const step = this.undone.pop();
    if (step) this.done.push(step);
    return step;
  }

  /** Rows that were made again have new ids. */
  rename(ids: ReadonlyMap<string, string>): void {
    const renamed = (id: string) => ids.get(id) ?? id;
    for (const step of [...this.done, ...this.undone]) {
      step.madeRowIds = step.madeRowIds.map(renamed);
      for (const cell of step.cells) cell.rowId = renamed(cell.rowId);
    }
  }

  clear(): void {
    this.done = [];
    this.undone = [];
  }
}
