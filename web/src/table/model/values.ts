import type { Json } from '../../api/types';

/**
 * Parses `text` typed over `before`. Text stays text, so that `007` keeps its zeros. Numbers, booleans and JSON are
 * read only where a value of that type was before.
 */
export function parseTyped(text: string, before: Json): Json {
  if (text === '') return null;
  if (typeof before === 'number') {
    const number = Number(text);
    return text.trim() !== '' && Number.isFinite(number) ? number : text;
  }
  if (typeof before === 'boolean') {
    const word = text.trim().toLowerCase();
    return word === 'true' ? true : word === 'false' ? false : text;
  }
  if (typeof before === 'object' && before !== null) {
    try {
      return JSON.parse(text) as Json;
    } catch {
      return text;
    }
  }
  return text;
}

/** A value as one line of text, for copying and for editing anything but JSON. */
export function toText(value: Json | undefined): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A value as text for reading and editing; JSON is indented. */
export function toPretty(value: Json | undefined): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : toText(value);
}

export function isJson(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null;
}
