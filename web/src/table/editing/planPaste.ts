import type { Json } from '../../api/types';
import { parseTyped } from '../model/values';

export interface PasteTarget {
  /** The shown columns in order, and whether each is writable. */
  columns: readonly { id: string; isWritable: boolean }[];
  firstColumn: number;
  firstRow: number;
  rowCount: number;
  /** Number of selected rows; a single value fills all of them. */
  selectedRows?: number;
  selectedColumns?: number;
}

export interface PastePlan {
  /** Cells of existing rows, by row index. */
  writes: { rowIndex: number; columnId: string; text: string }[];
  /** Rows to add at the end: text by column id. */
  added: Record<string, string>[];
  /** How many cells did not fit: read-only columns, and columns after the last. */
  leftOut: number;
}

/** Plans which cells and rows a pasted block is written to. */
export function planPaste(values: readonly (readonly string[])[], target: PasteTarget): PastePlan {
  const block = spread(values, target.selectedRows ?? 1, target.selectedColumns ?? 1);
  const plan: PastePlan = { writes: [], added: [], leftOut: 0 };
  block.forEach((line, down) => {
    const rowIndex = target.firstRow + down;
    const added: Record<string, string> = {};
    line.forEach((text, right) => {
      const column = target.columns[target.firstColumn + right];
      if (!column?.isWritable) plan.leftOut += 1;
      else if (rowIndex < target.rowCount) plan.writes.push({ rowIndex, columnId: column.id, text });
      else added[column.id] = text;
    });
    if (rowIndex >= target.rowCount) plan.added.push(added);
  });
  return plan;
}

/** A block pasted into a larger selection repeats to fill it, as in a spreadsheet, if it divides it evenly. */
function spread(values: readonly (readonly string[])[], rows: number, columns: number): string[][] {
  const width = values[0]?.length ?? 0;
  const height = values.length;
  if (width === 0) return [];
  const down = rows % height === 0 ? Math.max(1, rows / height) : 1;
  const right = columns % width === 0 ? Math.max(1, columns / width) : 1;
  if (down === 1 && right === 1) return values.map((line) => [...line]);
  return Array.from({ length: height * down }, (_, y) =>
    Array.from({ length: width * right }, (_, x) => values[y % height]?.[x % width] ?? ''),
  );
}

/** The body of a row to add. */
export function addedRow(texts: Record<string, string>): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(texts)
      .filter(([, text]) => text !== '')
      .map(([columnId, text]) => [columnId, parseTyped(text, null)]),
  );
}
