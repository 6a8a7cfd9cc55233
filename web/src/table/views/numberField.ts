import { isExactNumber, readNumber } from '../../api/exactNumber';
import type { Json } from '../../api/types';

/** What a field for numbers shows of a filter's value. The service stores long numbers as text. */
export function numberShown(value: Json | undefined): number | string {
  if (typeof value === 'number') return value;
  if (isExactNumber(value)) return value.text;
  return typeof value === 'string' && isPartOfNumber(value) ? value : '';
}

/** The filter's value for what was typed: the exact number, or the text as long as it is none, such as `-`. */
export function numberTyped(typed: number | string): Json {
  return typed === '' ? null : (readNumber(String(typed)) ?? typed);
}

/** Whether a filter has a number or a date to compare with, and not only a minus sign. */
export function isComparable(value: Json | undefined): boolean {
  return typeof value === 'string' ? /\d/.test(value) : value !== null && value !== undefined;
}

/** Dates are text, too, but a field for numbers would cut them. */
function isPartOfNumber(text: string): boolean {
  return /^-?\d*\.?\d*$/.test(text);
}
