import { isExactNumber, isNumber, parseJson, readNumber, stringifyJson } from '../../api/exactNumber';
import type { Json } from '../../api/types';

/**
 * Parses `text` typed over `before`. Text stays text, so that `007` keeps its zeros. Numbers, booleans and JSON are
 * read only where a value of that type was before.
 */
export function parseTyped(text: string, before: Json): Json {
  if (text === '') return null;
  if (isNumber(before)) return readNumber(text) ?? text;
  if (typeof before === 'boolean') {
    const word = text.trim().toLowerCase();
    return word === 'true' ? true : word === 'false' ? false : text;
  }
  if (isJson(before)) {
    try {
      return parseJson(text) as Json;
    } catch {
      return text;
    }
  }
  return text;
}

/** A value as one line of text, for copying and for editing anything but JSON. */
export function toText(value: Json | undefined): string {
  if (value === null || value === undefined) return '';
  return isJson(value) ? stringifyJson(value) : String(value);
}

/** A value as text for reading and editing; JSON is indented. */
export function toPretty(value: Json | undefined): string {
  return isJson(value) ? stringifyJson(value, 2) : toText(value);
}

/** Whether a value is an object or a list. An exact number is neither, although `typeof` says so. */
export function isJson(value: Json | undefined): value is Json[] | { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !isExactNumber(value);
}
