import type { Format, Json } from '../../api/types';
import { parseTyped } from '../model/values';
import { readValue } from './reading';

/**
 * Parses `text` typed into a cell of a column with a type. What is written stays as it is written, except where the type
 * has a JSON value of its own: checkboxes, ratings, lists and plain numbers.
 */
export function parseFor(text: string, before: Json, format: Format | undefined): Json {
  if (!format) return parseTyped(text, before);
  if (text === '') return null;
  switch (format.type) {
    case 'checkbox':
    case 'rating': {
      const reading = readValue(text, format);
      return reading.kind === 'fits' ? reading.value : text;
    }
    case 'multiSelect': {
      const reading = readValue(parseJson(text) ?? text, format);
      return reading.kind === 'fits' ? reading.value : text;
    }
    case 'number':
    case 'currency':
    case 'percent':
      return String(Number(text)) === text.trim() ? Number(text) : text;
    case 'json':
      return parseJson(text) ?? text;
    default:
      return text;
  }
}

/** JSON that is an object or a list. */
function parseJson(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
