import type { Column, Row } from '../../api/types';

/** The column that every table starts with, and its default name. */
const INPUT = { id: '_trigger', header: 'Input' };
const ROWS_LOOKED_AT = 20;

/** Whether the input column is empty in the first rows. Many tables never use it. */
export function isUnusedInput(columnId: string | undefined, rowAt: (index: number) => Row | undefined): boolean {
  const rows = Array.from({ length: ROWS_LOOKED_AT }, (_, index) => rowAt(index)).filter((row) => row !== undefined);
  return columnId === INPUT.id && rows.every((row) => (row.cells[INPUT.id]?.value ?? null) === null);
}

/** The input column, if it is the only column and still has its default name. */
export function unnamedInput(columns: readonly Column[]): Column | undefined {
  const [first, ...others] = columns;
  return first?.id === INPUT.id && first.header === INPUT.header && others.length === 0 ? first : undefined;
}

/** The column to start a new row in. Skips an unused input column if there is another manual column. */
export function firstToType(columns: readonly Pick<Column, 'id' | 'type'>[], rowAt: (index: number) => Row | undefined): number {
  if (!isUnusedInput(columns[0]?.id, rowAt)) return 0;
  return Math.max(0, columns.findIndex(({ id, type }) => id !== INPUT.id && type === 'manual'));
}
