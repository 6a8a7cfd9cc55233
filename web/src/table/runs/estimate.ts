import type { FilterNode, TriggerBody } from '../../api/types';

export interface RunEstimate {
  cells: number;
  /** Cells by column, if they were counted by column. */
  byColumn: Map<string, number>;
  /** An upper bound, because rows were counted and not cells. */
  isAtMost: boolean;
}

/** Larger runs need confirmation. */
export const UNCONFIRMED_CELLS_MAX = 100;
const COLUMNS_COUNTED_MAX = 12;
const ROW_IDS_COUNTED_MAX = 1_000;

/** Estimates how many cells a run would start. `rowsOf` asks the service how many rows a run touches. */
export async function estimateRun(
  body: TriggerBody,
  columnIds: readonly string[],
  rowsOf: (body: TriggerBody) => Promise<number>,
): Promise<RunEstimate> {
  const isLong = (body.rowIds?.length ?? 0) > ROW_IDS_COUNTED_MAX;
  if (columnIds.length > 1 && (isLong || columnIds.length > COLUMNS_COUNTED_MAX)) {
    const cells = (await rowsOf(body)) * columnIds.length;
    return { cells, byColumn: new Map(), isAtMost: true };
  }
  // A run of one column has as many cells as rows.
  const counts = await Promise.all(columnIds.map((columnId) => rowsOf({ ...body, columnIds: [columnId] })));
  const byColumn = new Map(columnIds.map((columnId, place) => [columnId, counts[place] ?? 0]));
  return { cells: counts.reduce((sum, cells) => sum + cells, 0), byColumn, isAtMost: false };
}

/** Filters for rows with a manual value in this column. */
export function isManual(columnId: string): FilterNode {
  return { columnId, operator: 'isManual' };
}

/** The same run without manual values. Only possible for a single column. */
export function withoutManualValues(body: TriggerBody): TriggerBody | undefined {
  const [columnId, ...others] = body.columnIds ?? [];
  if (!columnId || others.length > 0) return undefined;
  const kept: FilterNode = { conjunction: 'not', filters: [isManual(columnId)] };
  return { ...body, filters: [...(body.filters ?? []), kept] as TriggerBody['filters'] };
}
