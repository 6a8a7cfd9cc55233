import { isExactNumber, stringifyJson } from '../../api/exactNumber';
import type { Column, ColumnCreate } from '../../api/types';
import { type ColumnDraft, draftOf, toBody } from './draft';

type Fields = Record<string, unknown>;

/** The draft as a change of the stored column. The service merges changes, so what was removed, such as a header, is sent as null. */
export function toChange(draft: ColumnDraft, stored: ColumnDraft): ColumnCreate {
  return withRemovals(toBody(stored), toBody(draft)) as ColumnCreate;
}

/** What to try. The service merges it into the stored column; if something was removed, it is tried as a column of its own. */
export function toTry(draft: ColumnDraft, stored: Column | undefined): { column: ColumnCreate; columnId?: string } {
  const column = toBody(draft);
  const isRemoved = stored !== undefined && stringifyJson(toChange(draft, draftOf(stored))) !== stringifyJson(column);
  return stored && !isRemoved ? { column, columnId: stored.id } : { column };
}

function withRemovals(before: unknown, after: unknown): unknown {
  if (!isFields(before) || !isFields(after)) return after;
  const removed = Object.keys(before).filter((key) => after[key] === undefined && before[key] !== undefined && before[key] !== null);
  const kept = Object.entries(after).map(([key, value]) => [key, withRemovals(before[key], value)]);
  return Object.fromEntries([...kept, ...removed.map((key) => [key, null])]);
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}
