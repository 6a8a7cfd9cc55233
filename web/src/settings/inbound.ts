import { parseJson, stringifyJson } from '../api/exactNumber';
import type { InboundDelivery, Project, UnknownKeys } from '../api/types';

type Outcome = InboundDelivery['outcomes'][number];

/** What can become of keys that name no column. */
export const UNKNOWN_KEYS: readonly { value: UnknownKeys; label: string }[] = [
  { value: 'keep', label: 'Keep them in the input column' },
  { value: 'addColumns', label: 'Add a column for each' },
  { value: 'ignore', label: 'Ignore them' },
];

/** Columns that a delivery can be written into, for a list to choose from. */
export function writableColumns(project: Project): { value: string; label: string }[] {
  return project.columns.filter(({ type }) => type !== 'reference').map(({ id, header }) => ({ value: id, label: header }));
}

/** What became of a delivery, in a few words. */
export function outcomeText(outcome: Outcome): string {
  const counts = [
    [outcome.rowsCreated, 'added'],
    [outcome.rowsUpdated, 'updated'],
    [outcome.rowsUnchanged, 'unchanged'],
  ] as const;
  const rows = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${count === 1 ? 'row' : 'rows'} ${what}`);
  const ignored = outcome.ignoredKeys.length > 0 ? [`ignored: ${outcome.ignoredKeys.join(', ')}`] : [];
  return [...rows, ...(outcome.reason ? [outcome.reason] : []), ...ignored].join('. ');
}

/** A command that sends one row to a hook. */
export function hookExample(project: Project, url: string): string {
  const manual = project.columns.filter((column) => column.type === 'manual' && !column.trigger).slice(0, 2);
  const names = manual.length > 0 ? manual.map(({ header }) => header) : ['Name'];
  const row = stringifyJson(Object.fromEntries(names.map((name) => [name, 'Ada'])));
  // In a shell, an apostrophe ends the quoted text.
  return `curl '${url}' \\\n  -H 'Content-Type: application/json' \\\n  -d '${row.replaceAll("'", "'\\''")}'`;
}

/** A body as people like to read it: JSON with line breaks, anything else as it came. */
export function readableBody(delivery: InboundDelivery): string {
  const body = delivery.body ?? delivery.bodyBase64 ?? '';
  try {
    return stringifyJson(parseJson(body), 2);
  } catch {
    return body;
  }
}
