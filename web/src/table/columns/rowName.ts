import type { Column, Json, Row } from '../../api/types';
import { displayOf, drawnLine } from '../display/display';

/** The first value that somebody typed into a row. */
export function nameOf(row: Row, columns: readonly Pick<Column, 'id' | 'type'>[]): string {
  const typed = columns.filter(({ type }) => type === 'manual').map(({ id }): Json => row.cells[id]?.value ?? null);
  const first = typed.find((value) => value !== null && value !== '');
  return first === undefined ? '' : drawnLine(displayOf(first));
}
