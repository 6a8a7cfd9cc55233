import type { Estimate, FilterNode, TriggerBody } from '../../api/types';
import { formatDollars, formatDuration, pluralize } from '../../ui/format';

export interface RunEstimate {
  cells: number;
  /** Cells by column, if they were counted by column. */
  byColumn: Map<string, number>;
  /** An upper bound, because rows were counted and not cells. */
  isAtMost: boolean;
  /** What the service expects the run to take; undefined if it has too many columns. */
  estimate?: Estimate | undefined;
}

/** Larger runs need confirmation. */
export const UNCONFIRMED_CELLS_MAX = 100;

/** What a dry run answers. */
interface Rehearsal {
  triggeredCount: number;
  estimate?: Estimate;
}

/** Estimates how many cells a run would start. `rehearse` asks the service what a run would take. */
export async function estimateRun(
  body: TriggerBody,
  columnIds: readonly string[],
  rehearse: (body: TriggerBody) => Promise<Rehearsal>,
): Promise<RunEstimate> {
  if (columnIds.length === 0) return { cells: 0, byColumn: new Map(), isAtMost: false };
  const { triggeredCount, estimate } = await rehearse(body);
  if (!estimate) return { cells: triggeredCount * columnIds.length, byColumn: new Map(), isAtMost: true };
  const byColumn = new Map(estimate.basis.map(({ columnId, cells }) => [columnId, cells]));
  return { cells: estimate.cells, byColumn, isAtMost: false, estimate };
}

/** What a run is likely to cost and take: `About $1.20 ($0.90 to $1.60), 3 min.` */
export function estimateText({ usd, credits, seconds, basis }: Estimate): string {
  const paid = basis.filter(({ from }) => from !== 'free');
  const dollars = usd && (usd.low === usd.high ? formatDollars(usd.likely) : `${formatDollars(usd.likely)} (${formatDollars(usd.low)} to ${formatDollars(usd.high)})`);
  const parts = [
    paid.length > 0 && (dollars ? `About ${dollars}` : 'Cost unknown'),
    typeof credits === 'number' && pluralize(Math.round(credits), 'credit'),
    `${paid.length > 0 ? '' : 'About '}${formatDuration(seconds)}`,
  ];
  return `${parts.filter(Boolean).join(', ')}.`;
}

/** How an estimate was made, in one sentence. */
export function basisText({ basis }: Estimate): string {
  const unknown = basis.filter(({ from }) => from === 'unknown').map(({ header }) => `“${header}”`);
  if (unknown.length > 0) return `No price is known for ${unknown.join(', ')}. Run a few rows first, or set a price in Settings, Spending.`;
  if (basis.some(({ from }) => from === 'sampled_rows')) return 'By the price list, from some of the rows. Run a few rows first for a closer estimate.';
  if (basis.some(({ from }) => from === 'last_cells')) return 'From the last cells of these columns.';
  return 'These columns call nobody who is paid.';
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
