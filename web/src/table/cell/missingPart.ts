import { isNumber } from '../../api/exactNumber';
import type { Json } from '../../api/types';
import { isJson } from '../model/values';
import { partsOf, type Segment, writePath } from './jsonPath';

/** The segments of a dotted path or of a plain JSONPath; undefined for anything that selects by a rule. */
export function readPath(path: string): Segment[] | undefined {
  if (path.includes('..')) return undefined;
  const rest = path.trim().replace(/^\$\.?/, '');
  const segments: Segment[] = [];
  const part = /\.?([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;
  while (part.lastIndex < rest.length) {
    const match = part.exec(rest);
    if (!match || match[1] === '*') return undefined;
    const [, name, index, single, double] = match;
    segments.push(index !== undefined ? Number(index) : (name ?? (single ?? double ?? '').replace(/\\(.)/g, '$1')));
  }
  return segments;
}

const NAMED_MAX = 6;

/** Why a path finds nothing in a value, in a sentence; undefined if it finds something or if that cannot be told. */
export function missingPart(source: Json, path: string): string | undefined {
  if (path.trim() === '') return undefined;
  if (source === null || source === '') return 'The source cell of this row is empty. Run that column first, or choose another row.';
  const segments = readPath(path);
  if (!segments) return undefined;
  let value: Json = source;
  for (const [depth, segment] of segments.entries()) {
    const inner: [Segment, Json] | undefined = partsOf(value).find(([name]) => name === segment);
    if (!inner) return `Nothing found at ${path}: ${contentsOf(value, segments.slice(0, depth))}`;
    value = inner[1];
  }
  return value === null ? `The value at ${path} is empty in this row.` : undefined;
}

function contentsOf(value: Json, segments: readonly Segment[]): string {
  const where = segments.length === 0 ? 'the source cell' : writePath(segments);
  if (Array.isArray(value)) return value.length === 0 ? `${where} is an empty list.` : `${where} is a list of ${value.length}, counted from 0.`;
  const names = partsOf(value).map(([name]) => String(name));
  if (!isJson(value)) return `${where} is plain ${plainKind(value)}, which has no parts.`;
  if (names.length === 0) return `${where} has no fields.`;
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
  return `${where} has ${names.slice(0, NAMED_MAX).join(', ')}${more}.`;
}

function plainKind(value: Json): string {
  if (typeof value === 'string') return 'text';
  return isNumber(value) ? 'number' : typeof value;
}
