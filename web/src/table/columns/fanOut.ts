import type { Column, FanOut, Json } from '../../api/types';
import { partsOf, writePath } from '../cell/jsonPath';
import { readPath } from '../cell/missingPart';
import { guessColumns } from '../model/guessColumns';
import { isJson } from '../model/values';

/** Where a list is: a column, and the path in it. */
export interface ListSource {
  columnId: string;
  path: string;
}

/** Reads a reference such as `@{col_site.pages}`. */
export function readList(list: string): ListSource {
  const [, columnId = '', path = ''] = /^@\{([^.[}]+)\.?([^}]*)\}$/.exec(list.trim()) ?? [];
  return { columnId, path };
}

export function writeList({ columnId, path }: ListSource): string {
  const bare = path.trim();
  if (!columnId) return '';
  return bare === '' || bare === '$' ? `@{${columnId}}` : `@{${columnId}${bare.startsWith('[') ? '' : '.'}${bare}}`;
}

/** The items that a value has at a path; undefined if it has no list there, or if that cannot be told. */
export function itemsAt(value: Json, path: string): Json[] | undefined {
  const segments = readPath(path);
  let part: Json | undefined = value;
  for (const segment of segments ?? []) part = partsOf(part ?? null).find(([name]) => name === segment)?.[1];
  if (!segments || part === undefined) return undefined;
  if (Array.isArray(part)) return part;
  return isJson(part) ? [part] : undefined;
}

/** The path to the first list in a value, if there is one: `pages` of a crawl. */
export function findList(value: Json): string | undefined {
  if (Array.isArray(value)) return '';
  const found = partsOf(value).find(([, part]) => Array.isArray(part) && part.length > 0);
  return found && writePath([found[0]]);
}

/** The columns of a table that rows from a list can fill, the input column last. */
export function fillable(columns: readonly Column[], mapping: FanOut['mapping'] = {}): Column[] {
  const found = columns.filter((column) => column.type === 'manual' || mapping[column.id]);
  return [...found.filter(({ id }) => id !== '_trigger'), ...found.filter(({ id }) => id === '_trigger')];
}

/** What fills the columns of another table: the fields of the items that go by the same or a similar name. */
export function guessMapping(items: readonly Json[], columns: readonly Column[]): Pick<FanOut, 'mapping' | 'matchOn'> {
  const names = [...new Set(items.slice(0, SAMPLES_MAX).flatMap((item) => partsOf(item).map(([name]) => String(name))))];
  const fields = names.map((name) => ({ id: name, header: spaced(name) }) as Column);
  const sample = (name: string) => items.slice(0, SAMPLES_MAX).map((item) => partsOf(item).find(([key]) => key === name)?.[1] ?? null);
  const targets = fillable(columns).filter(({ id }) => id !== '_trigger');
  const isPlain = items.length > 0 && !items.some(isJson);
  const guesses = guessColumns(targets.map(({ header }) => header), fields, sample);
  const found = targets.flatMap(({ id, header }): [string, string][] => {
    const guess = guesses[header];
    return guess ? [[id, fieldPath(guess.columnId)]] : [];
  });
  const [first] = targets;
  const mapping = Object.fromEntries(isPlain && first ? [[first.id, '$']] : found);
  return { mapping, matchOn: guessMatch(mapping, targets) };
}

const SAMPLES_MAX = 20;
/** Headers of columns that tell rows apart, best first. */
const KEYS = [/e-?mail/i, /linkedin/i, /\burl\b|link|address/i, /domain|website/i, /\bid\b/i];

function guessMatch(mapping: FanOut['mapping'], columns: readonly Column[]): string {
  const mapped = columns.filter(({ id }) => mapping[id]);
  const best = KEYS.map((key) => mapped.find(({ header }) => key.test(header))).find(Boolean);
  return (best ?? mapped[0])?.id ?? '';
}

/** The JSONPath to a field of an item. */
function fieldPath(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `$.${name}` : `$['${name.replace(/['\\]/g, '\\$&')}']`;
}

/** `fullName` as `full name`. */
function spaced(name: string): string {
  return name.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/[_-]+/g, ' ');
}
