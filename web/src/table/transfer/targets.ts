import type { Column } from '../../api/types';
import { formatNumber, pluralize } from '../../ui/format';
import type { Preview } from './preview';

export const NEW = 'new';
export const LEFT_OUT = 'out';
/** It names a column that fills itself from another one: the service does not write there, nor makes a second one. */
export const FOLLOWS = 'follows';

/** Where a part of a file goes unless somebody says otherwise: to the column of the same name, else to a new one. */
export function suggested(name: string, columns: readonly Column[]): string {
  const wanted = name.trim().toLowerCase();
  const found = columns.find((column) => column.id === name || column.header.trim().toLowerCase() === wanted);
  if (!found) return NEW;
  return found.type === 'reference' ? FOLLOWS : found.id;
}

/** How many of the rows are too wide, the line of names not counted. */
export function tooWideTitle({ wideRows, linesLookedAt, isAllLookedAt }: Pick<Preview, 'wideRows' | 'linesLookedAt' | 'isAllLookedAt'>, hasHeader: boolean): string {
  const rows = linesLookedAt - (hasHeader ? 1 : 0);
  const among = isAllLookedAt ? pluralize(rows, 'row') : `the first ${pluralize(rows, 'row')}`;
  return `${formatNumber(wideRows)} of ${among} will not be imported`;
}
