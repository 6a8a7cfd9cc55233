import type { Row } from '../../api/types';
import { formatNumber } from '../../ui/format';
import { rowRanges } from '../grid/selection';
import type { Anchors } from '../grid/selectionAnchors';
import { fetchAllIds, fetchIds } from '../rows/fetchRows';
import type { Table } from '../state/useTable';
import { type RowRange, verifyRows } from './verifyRows';

export function countSelectedRows({ selection, total = 0 }: Pick<Table, 'selection' | 'total'>): number {
  return selection.rows.length - (selection.rows.hasIndex(total) ? 1 : 0);
}

/** Whether the whole list is selected, rather than rows one by one. */
export function isEverythingSelected(table: Table): boolean {
  return table.anchors().isEverything;
}

/** The ids of the selected rows. Throws if they may not be the rows that the user selected. */
export async function selectedRowIds(table: Table): Promise<string[]> {
  const { project, query } = table;
  const anchors = table.anchors();
  if (anchors.isEverything) return all(await fetchAllIds(project.id, query), countSelectedRows(table));
  const ids: string[] = [];
  for (const run of rangesOf(table)) {
    const known = knownIds(run, anchors);
    ids.push(...(known ?? verifyRows(run, await fetchIds(project.id, query, ...run), anchors)));
  }
  return ids;
}

/** The selected rows with their cells, for undoing a deletion. */
export async function selectedRows(table: Table): Promise<Row[]> {
  const anchors = table.anchors();
  const rows: Row[] = [];
  for (const run of rangesOf(table)) {
    const found = await table.store.rowsBetween(...run);
    const ids = found.map(({ id }) => id);
    if (anchors.isEverything) all(ids, countSelectedRows(table));
    else verifyRows(run, ids, anchors);
    rows.push(...found);
  }
  return rows;
}

function rangesOf({ selection, total = 0 }: Table): RowRange[] {
  return rowRanges(selection.rows)
    .map(([first, end]): RowRange => [first, Math.min(end, total)])
    .filter(([first, end]) => first < end);
}

function knownIds([first, end]: RowRange, { ids }: Anchors): string[] | undefined {
  const known = Array.from({ length: end - first }, (_, place) => ids.get(first + place)).filter((id) => id !== undefined);
  return known.length === end - first ? known : undefined;
}

function all(ids: string[], wanted: number): string[] {
  if (ids.length === wanted && new Set(ids).size === wanted) return ids;
  throw new Error(`The list has changed: it now has ${formatNumber(ids.length)} rows. Nothing was done. Check the list and try again.`);
}
