import type { Column, Row } from '../../api/types';

/** The column that every table begins with, and what it is called until somebody names it. */
const INPUT = { id: '_trigger', header: 'Input' };
const ROWS_LOOKED_AT = 20;

/** Whether nothing stands in the input column, as far as the first rows tell. Many tables never use it. */
export function isUnusedInput(columnId: string | undefined, rowAt: (index: number) => Row | undefined): boolean {
  const rows = Array.from({ length: ROWS_LOOKED_AT }, (_, index) => rowAt(index)).filter((row) => row !== undefined);
  return columnId === INPUT.id && rows.every((row) => (row.cells[INPUT.id]?.value ?? null) === null);
}

/** The input column of a table that has no other, if nobody has named it yet. */
export function unnamedInput(columns: readonly Column[]): Column | undefined {
  const [first, ...others] = columns;
  return first?.id === INPUT.id && first.header === INPUT.header && others.length === 0 ? first : undefined;
}

/** Where to begin a new row: not in the input column if it is left empty and there is another to write in. */
export function firstToType(columns: readonly Pick<Column, 'id' | 'type'>[], rowAt: (index: number) => Row | undefined): number {
  if (!isUnusedInput(columns[0]?.id, rowAt)) return 0;
  return Math.max(0, columns.findIndex(({ id, type }) => id !== INPUT.id && type === 'manual'));
}
