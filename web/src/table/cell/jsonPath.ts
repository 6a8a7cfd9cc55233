import type { Json } from '../../api/types';
import { isJson } from '../model/values';

export type Segment = string | number;

const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** The path to a part of a value: dotted if possible (`items[0].name`), otherwise JSONPath. */
export function writePath(segments: readonly Segment[]): string {
  const isDotted = segments.every((segment) => typeof segment === 'number' || PLAIN_KEY.test(segment));
  if (!isDotted) {
    return `$${segments.map((segment) => (typeof segment === 'number' ? `[${segment}]` : `['${segment.replace(/['\\]/g, '\\$&')}']`)).join('')}`;
  }
  return segments.reduce<string>(
    (path, segment) => (typeof segment === 'number' ? `${path}[${segment}]` : path ? `${path}.${segment}` : segment),
    '',
  );
}

/** The children of a value with the last segment of their path. */
export function partsOf(value: Json): [Segment, Json][] {
  if (Array.isArray(value)) return value.map((part, index) => [index, part]);
  return isJson(value) ? Object.entries(value) : [];
}
