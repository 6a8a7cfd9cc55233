import { parseJson, readNumber } from '../../api/exactNumber';
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
      const reading = readValue(parseStructure(text) ?? text, format);
      return reading.kind === 'fits' ? reading.value : text;
    }
    case 'number':
    case 'currency':
    case 'percent':
      return plainNumber(text) ?? text;
    case 'json':
      return parseStructure(text) ?? text;
    default:
      return text;
  }
}

/** A number that is written as it would be shown again. */
function plainNumber(text: string): Json | undefined {
  const number = readNumber(text);
  return String(number) === text.trim() ? number : undefined;
}

/** JSON that is an object or a list. */
function parseStructure(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return parseJson(text) as Json;
  } catch {
    return undefined;
  }
}
