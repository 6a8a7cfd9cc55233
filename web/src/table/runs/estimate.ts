import type { Estimate, FilterNode, TriggerBody } from '../../api/types';
import { formatDollars, formatDuration, formatNumber, pluralize } from '../../ui/format';

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

/** A figure of an estimate, and how sure it is. */
export interface Figure {
  value: string;
  note: string;
}

/** What a run is likely to cost: `$1.20`, and `$0.90 to $1.60`. */
export function costFigure({ usd, credits, basis }: Estimate): Figure {
  const spent = typeof credits === 'number' ? pluralize(Math.round(credits), 'credit') : '';
  if (basis.every(({ from }) => from === 'free')) return { value: 'Free', note: 'nobody is paid' };
  const isLacking = basis.some(({ missingCredential }) => missingCredential);
  if (basis.some(({ disabled }) => disabled)) return { value: 'Unknown', note: 'a column is disabled' };
  if (!usd) return { value: spent || 'Unknown', note: isLacking ? 'a credential is missing' : 'no price is known' };
  const isExact = formatDollars(usd.low) === formatDollars(usd.high);
  const range = isExact ? '' : `${formatDollars(usd.low)} to ${formatDollars(usd.high)}`;
  return { value: formatDollars(usd.likely), note: [range, spent].filter(Boolean).join(', ') || 'likely' };
}

/** How long a run is likely to take: `3 min`. */
export function timeFigure({ seconds, batch }: Estimate): Figure {
  if (batch) return { value: `≤ ${Math.ceil(batch.secondsMax / 3600)} h`, note: 'in batches' };
  return { value: seconds < 1 ? '< 1 s' : formatDuration(seconds), note: 'at the rates allowed' };
}

/** What goes through batches: how long that may take and what it saves; empty if nothing does. */
export function batchText({ batch }: Estimate): string {
  if (!batch) return '';
  const time = `${pluralize(batch.cells, 'cell')} in batches: results within ${Math.ceil(batch.secondsMax / 3600)} hours`;
  return typeof batch.savedUsd === 'number' ? `${time}. Saves about ${formatDollars(batch.savedUsd)}.` : `${time}, at half the price.`;
}

/** How an estimate was made, in one sentence. */
export function basisText({ basis }: Estimate): string {
  const off = basis.find(({ disabled }) => disabled);
  if (off) return `“${off.header}” is disabled, and its cells would fail: ${off.disabled ?? ''}`;
  const lacking = basis.find(({ missingCredential }) => missingCredential);
  if (lacking) return `“${lacking.header}” lacks a credential: ${lacking.missingCredential ?? ''}`;
  const unknown = basis.filter(({ from }) => from === 'unknown').map(({ header }) => `“${header}”`);
  if (unknown.length > 0) return `No price is known for ${unknown.join(', ')}. Run a few rows first, or set a price in Settings, Spending.`;
  if (basis.some(({ from }) => from === 'sampled_rows')) return 'By the price list, from some of the rows. Run a few rows first for a closer estimate.';
  if (basis.some(({ from }) => from === 'last_cells')) return 'From the last cells of these columns.';
  return 'These columns call nobody who is paid.';
}

/** The cells that a run leaves as they are: `1,200 done, 3 edited manually`. */
export function notRunText({ notRun }: Estimate): string {
  const { done = 0, manual = 0, pending = 0 } = notRun ?? {};
  const parts: [number, string][] = [
    [done, 'done already'],
    [manual, 'edited manually'],
    [pending, 'running already'],
  ];
  return parts
    .filter(([number]) => number > 0)
    .map(([number, words]) => `${formatNumber(number)} ${words}`)
    .join(', ');
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
