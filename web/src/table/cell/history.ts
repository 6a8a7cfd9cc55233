import type { Cell, Json } from '../../api/types';
import { formatCost, formatMilliseconds, pluralize } from '../../ui/format';
import { isEmptyResult, shortMessage } from '../model/cellStatus';
import { outcomeOf, type TriedEntry } from './outcomes';

/** One step in the life of a cell. */
export interface HistoryEntry {
  /** Decides the mark beside the entry. */
  kind: 'step' | 'done' | 'failed' | 'changed' | 'waiting';
  title: string;
  details: string;
  /** When it happened, if known. */
  at?: string | undefined;
}

/** How a cell came to be what it is, oldest first, as far as the service tells. */
export function historyOf(cell: Cell, nameOf: (providerId: string) => string): HistoryEntry[] {
  const { meta = {}, stale, retryAt, error } = cell;
  const entries = triedIn(meta).map((entry): HistoryEntry => tried(entry, nameOf));
  const end = ending(cell, nameOf);
  if (end) entries.push(end);
  if (stale) entries.push({ kind: 'changed', title: 'Out of date', details: 'An input or the column has changed since.' });
  if (retryAt && cell.status === 'queued') {
    entries.push({ kind: 'waiting', title: `Next try at ${new Date(retryAt).toLocaleTimeString()}`, details: error ? `After: ${error.message}` : '' });
  }
  return entries;
}

function tried(entry: TriedEntry, nameOf: (providerId: string) => string): HistoryEntry {
  const [word] = outcomeOf(entry);
  const time = entry.milliseconds !== undefined && formatMilliseconds(entry.milliseconds);
  return {
    kind: entry.outcome === 'verified' || entry.outcome === 'unverified' ? 'done' : 'step',
    title: nameOf(entry.taskType ?? entry.id ?? ''),
    details: [word, time, formatCost(entry)].filter(Boolean).join(' · '),
  };
}

function ending(cell: Cell, nameOf: (providerId: string) => string): HistoryEntry | undefined {
  const { status, manual, meta = {}, error, attempts, updatedAt: at } = cell;
  const count = attempts !== undefined && pluralize(attempts, 'attempt');
  if (manual) return { kind: 'changed', title: 'Edited manually', details: '', at };
  if (status === 'error') return { kind: 'failed', title: 'Failed', details: [count, error && shortMessage(error.message)].filter(Boolean).join(' · '), at };
  if (status === 'skipped') return { kind: 'step', title: 'Skipped', details: error?.message ?? '', at };
  if (status === 'generating') return { kind: 'waiting', title: 'Running', details: '' };
  if (status === 'queued') return cell.retryAt ? undefined : { kind: 'waiting', title: 'Queued', details: '' };
  if (status !== 'completed') return undefined;
  const { provider, model, milliseconds, cached } = meta;
  const facts = [
    typeof provider === 'string' && triedIn(meta).length === 0 && nameOf(provider),
    typeof model === 'string' && model,
    typeof milliseconds === 'number' && formatMilliseconds(milliseconds),
    formatCost(meta),
    cached === true && 'from cache',
    count,
  ];
  const isEmpty = isEmptyResult(cell);
  const details = facts.filter(Boolean).join(' · ');
  return { kind: isEmpty ? 'step' : 'done', title: isEmpty ? 'Nothing found' : 'Done', details, at };
}

function triedIn({ tried: entries }: Record<string, Json>): TriedEntry[] {
  return Array.isArray(entries) ? (entries as TriedEntry[]) : [];
}

/** Metadata that the history does not tell. */
export function otherFacts(meta: Record<string, Json> = {}): Record<string, Json> {
  const { tried: _tried, provider: _provider, model: _model, milliseconds: _milliseconds, cost: _cost, credits: _credits, cached: _cached, ...others } = meta;
  return others;
}
