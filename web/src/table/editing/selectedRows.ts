import type { Row } from '../../api/types';
import { count } from '../../ui/format';
import type { Anchors } from '../grid/following';
import { rowRuns } from '../grid/selection';
import { fetchAllIds, fetchIds } from '../rows/fetchRows';
import type { Table } from '../state/useTable';
import { type Run, verified } from './verifyRows';

export function countTicked({ selection, total = 0 }: Pick<Table, 'selection' | 'total'>): number {
  return selection.rows.length - (selection.rows.hasIndex(total) ? 1 : 0);
}

/** Whether every row of the list is ticked, and not each by itself: what is meant is the list. */
export function isEveryRow(table: Table): boolean {
  return table.anchors().isEverything;
}

/** The ids of the rows that are ticked. Throws unless they are surely those that people saw ticked. */
export async function tickedIds(table: Table): Promise<string[]> {
  const { project, query } = table;
  const anchors = table.anchors();
  if (anchors.isEverything) return all(await fetchAllIds(project.id, query), countTicked(table));
  const ids: string[] = [];
  for (const run of runsOf(table)) {
    const known = knownIds(run, anchors);
    ids.push(...(known ?? verified(run, await fetchIds(project.id, query, ...run), anchors)));
  }
  return ids;
}

/** The rows themselves, to be had back after they are deleted. */
export async function tickedRows(table: Table): Promise<Row[]> {
  const anchors = table.anchors();
  const rows: Row[] = [];
  for (const run of runsOf(table)) {
    const found = await table.store.rowsBetween(...run);
    const ids = found.map(({ id }) => id);
    if (anchors.isEverything) all(ids, countTicked(table));
    else verified(run, ids, anchors);
    rows.push(...found);
  }
  return rows;
}

function runsOf({ selection, total = 0 }: Table): Run[] {
  return rowRuns(selection.rows)
    .map(([first, end]): Run => [first, Math.min(end, total)])
    .filter(([first, end]) => first < end);
}

function knownIds([first, end]: Run, { ids }: Anchors): string[] | undefined {
  const known = Array.from({ length: end - first }, (_, place) => ids.get(first + place)).filter((id) => id !== undefined);
  return known.length === end - first ? known : undefined;
}

function all(ids: string[], wanted: number): string[] {
  if (ids.length === wanted && new Set(ids).size === wanted) return ids;
  throw new Error(`The list has changed meanwhile: it has ${count(ids.length)} rows now. Nothing was done; look at it again first.`);
}
