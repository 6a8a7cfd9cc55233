import { stringifyJson } from '../../api/exactNumber';
import { labelOf } from '../../api/fieldMessages';
import type { Column } from '../../api/types';
import { referenceLabel, tokenize } from '../template/tokens';
import type { ColumnDraft, DraftPart } from './draft';

/** Unsaved changes to a column, and the value each changed part had before. */
export interface Edits {
  changes: DraftPart;
  bases: DraftPart;
}

export const NO_EDITS: Edits = { changes: {}, bases: {} };

/** Edit conflict: a field that two people changed differently. */
export interface DraftConflict {
  part: keyof ColumnDraft;
  /** Set if the part is an object. */
  field?: string;
  theirs: unknown;
}

type Fields = Record<string, unknown>;
type Choose = (base: unknown, mine: unknown, theirs: unknown, field?: string) => unknown;

/** Adds a change. Records the base of a part at its first change; fields that only others changed get their new base. */
export function withChange({ changes, bases }: Edits, part: DraftPart, stored: ColumnDraft): Edits {
  const began = mapParts(part, (key) =>
    key in changes ? fieldwise(bases[key], changes[key], stored[key], (base, mine, theirs) => (isSame(mine, base) ? theirs : base)) : stored[key],
  );
  return { changes: { ...changes, ...part }, bases: { ...bases, ...began } };
}

/** Three-way merge of the changes with the stored column. Fields that only others changed keep their value. */
export function merged({ changes, bases }: Edits, stored: ColumnDraft): DraftPart {
  return mapParts(changes, (key) =>
    fieldwise(bases[key], changes[key], stored[key], (base, mine, theirs) => (isSame(mine, base) ? theirs : mine)),
  );
}

/** Fields that somebody else changed and that saving would overwrite. */
export function findDraftConflicts({ changes, bases }: Edits, stored: ColumnDraft): DraftConflict[] {
  const found: DraftConflict[] = [];
  mapParts(changes, (part) =>
    fieldwise(bases[part], changes[part], stored[part], (base, mine, theirs, field) => {
      const isCrossed = !isSame(mine, base) && !isSame(theirs, base) && !isSame(mine, theirs);
      if (isCrossed) found.push({ part, ...(field !== undefined && { field }), theirs });
    }),
  );
  return found;
}

/** Resolves conflicts in favour of the stored column. */
export function keepTheirs(edits: Edits, stored: ColumnDraft): Edits {
  const changes = mapParts(edits.changes, (key) =>
    fieldwise(edits.bases[key], edits.changes[key], stored[key], (base, mine, theirs) => (isSame(mine, base) || !isSame(theirs, base) ? theirs : mine)),
  );
  return keepMine({ ...edits, changes }, stored);
}

/** Resolves conflicts in favour of the local changes. */
export function keepMine(edits: Edits, stored: ColumnDraft): Edits {
  return { changes: merged(edits, stored), bases: mapParts(edits.changes, (key) => stored[key]) };
}

/** A conflict as a sentence, with the stored value if it is text. */
export function conflictText({ part, field, theirs }: DraftConflict, columns: readonly Column[]): string {
  const path = [SERVICE_NAMES[part] ?? part, ...(field ? [field] : [])].join('.');
  const isText = (typeof theirs === 'string' && theirs !== '') || typeof theirs === 'number';
  const said = isText ? `: ${shown(String(theirs), columns)}` : '.';
  return `“${labelOf(path) ?? field ?? part}” was changed in the meantime${said}`;
}

/** Parts that have another name in the API. */
const SERVICE_NAMES: Partial<Record<keyof ColumnDraft, string>> = {
  waterfall: 'taskConfig.waterfallEmail',
  scraper: 'taskConfig.webScraper',
  maxAttempts: 'retry.maxAttempts',
};

function shown(template: string, columns: readonly Column[]): string {
  const column = columns.find(({ id }) => id === template);
  if (column) return `“${column.header}”`;
  const parts = tokenize(template).map((token) => ('text' in token ? token.text : `@${referenceLabel(token.reference, columns) ?? token.reference}`));
  return `“${parts.join('')}”`;
}

function mapParts(parts: DraftPart, valueOf: (key: keyof ColumnDraft) => unknown): DraftPart {
  const keys = Object.keys(parts) as (keyof ColumnDraft)[];
  return Object.fromEntries(keys.map((key) => [key, valueOf(key)])) as DraftPart;
}

/** Compares objects field by field, and anything else as a whole. */
function fieldwise(base: unknown, mine: unknown, theirs: unknown, choose: Choose): unknown {
  if (!isFields(base) || !isFields(mine) || !isFields(theirs)) return choose(base, mine, theirs);
  const names = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
  return Object.fromEntries([...names].map((name) => [name, choose(base[name], mine[name], theirs[name], name)]));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Missing and null are the same. */
function isSame(one: unknown, other: unknown): boolean {
  return stringifyJson(one ?? null) === stringifyJson(other ?? null);
}
