import type { Column } from '../../api/types';
import { formatNumber, pluralize } from '../../ui/format';
import type { Preview } from './preview';

export const NEW = 'new';
export const LEFT_OUT = 'out';
/** The file's column has the name of a reference column, which an import can neither write nor create twice. */
export const FOLLOWS = 'follows';

/** The default target of a file's column: the column of the same name, or else a new one. */
export function suggested(name: string, columns: readonly Column[]): string {
  const wanted = name.trim().toLowerCase();
  const found = columns.find((column) => column.id === name || column.header.trim().toLowerCase() === wanted);
  if (!found) return NEW;
  return found.type === 'reference' ? FOLLOWS : found.id;
}

/** Says how many rows are too wide, without the header line. */
export function tooWideTitle({ wideRows, linesLookedAt, isAllLookedAt }: Pick<Preview, 'wideRows' | 'linesLookedAt' | 'isAllLookedAt'>, hasHeader: boolean): string {
  const rows = linesLookedAt - (hasHeader ? 1 : 0);
  const among = isAllLookedAt ? pluralize(rows, 'row') : `the first ${pluralize(rows, 'row')}`;
  return `${formatNumber(wideRows)} of ${among} will not be imported`;
}
