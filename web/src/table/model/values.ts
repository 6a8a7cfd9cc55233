import type { Json } from '../../api/types';

/**
 * What somebody meant who typed `text` over `before`. Text stays text, so that `007` keeps its noughts; only where a
 * number, a truth value or JSON stood does the same kind of thing replace it.
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

/** A value as one line of text: what is copied, and what is edited where it is no JSON. */
export function toText(value: Json | undefined): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A value as it is read and edited at leisure. */
export function toPretty(value: Json | undefined): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : toText(value);
}

export function isJson(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null;
}
