import type { Cell, Json } from '../../api/types';
import { notifyAction } from '../../ui/notifyAction';
import type { TypedCell } from '../grid/gridTypes';
import { parseTyped, toText } from '../model/values';
import type { Editor } from '../rows/editor';
import type { RowStore } from '../rows/rowStore';
import { isSame } from '../rows/undo';

/** Edit conflict: a cell that changed while somebody typed into it. */
export interface EditConflict {
  rowId: string;
  columnId: string;
  /** The value that somebody else wrote. */
  cell: Cell;
  /** The typed value. */
  value: Json;
}

/** Longer texts are cut in messages. */
const TOLD_MAX = 80;

/** Cells that changed after their editor was opened, and differ from the typed text. By row id. */
export function findEditConflicts(cells: readonly TypedCell[], store: Pick<RowStore, 'indexOf' | 'rowAt'>): Map<string, EditConflict> {
  const found = new Map<string, EditConflict>();
  for (const { row: opened, columnId, text } of cells) {
    const index = opened && store.indexOf(opened.id);
    const cell = index === undefined ? undefined : store.rowAt(index)?.cells[columnId];
    if (!opened || !cell || isSame(cell.value, opened.before.value)) continue;
    const value = parseTyped(text, opened.before.value);
    if (!isSame(cell.value, value)) found.set(opened.id, { rowId: opened.id, columnId, cell, value });
  }
  return found;
}

/** Last write wins, but the overwritten value is shown and can be restored. */
export function notifyConflicts(crossed: ReadonlyMap<string, EditConflict>, editor: Pick<Editor, 'change'>): void {
  for (const { rowId, columnId, cell, value } of crossed.values()) {
    const back = () => void editor.change([{ rowId, columnId, value: cell.value, before: { value, status: 'idle' } }]);
    notifyAction(`${conflictText(cell.value)} Your text replaced it.`, 'Use theirs', back, {
      title: 'This cell changed while you typed',
    });
  }
}

function conflictText(value: Json): string {
  if (value === null || value === '') return 'Somebody else cleared the cell.';
  const text = toText(value);
  return `Somebody else entered “${text.length > TOLD_MAX ? `${text.slice(0, TOLD_MAX)}…` : text}”.`;
}
