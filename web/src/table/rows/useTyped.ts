import type { Json } from '../../api/types';
import type { TypedCell } from '../grid/Grid';
import type { Table } from '../useTable';
import type { CellWrite } from './editor';
import { readTyped } from './typed';

/** Takes what was typed or filled: cells of rows that are there are written, the row after the last is added. */
export function useTyped(table: Table): (cells: TypedCell[]) => void {
  return (cells) => {
    const { store, editor } = table;
    const total = store.total ?? 0;
    const writes: CellWrite[] = [];
    const added = new Map<number, Record<string, Json>>();
    for (const { rowIndex, columnId, text } of cells) {
      const row = store.rowAt(rowIndex);
      if (row) {
        const before = row.cells[columnId]?.value ?? null;
        writes.push({ rowId: row.id, columnId, value: readTyped(text, before) });
      } else if (rowIndex >= total && text !== '') {
        added.set(rowIndex, { ...added.get(rowIndex), [columnId]: text });
      }
    }
    void editor.change(writes, [...added.values()]);
  };
}
