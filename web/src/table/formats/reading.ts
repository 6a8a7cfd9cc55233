import { isNumber, type JsonNumber, parseJson } from '../../api/exactNumber';
import type { Format, Json } from '../../api/types';
import { isJson, toText } from '../model/values';
import { readAmount } from './amounts';
import { isIsoDate, toIsoDate } from './calendar';
import { isEmail, isUrl, readPhone } from './contacts';
import { isCurrencySign, isSignOf } from './currencies';

/** A value read by a column's type. The service reads values the same way; `cases.json` tests both. */
export type Reading = { kind: 'empty' | 'misfit' } | { kind: 'fits'; value: Json };

const EMPTY: Reading = { kind: 'empty' };
const MISFIT: Reading = { kind: 'misfit' };

/** Reads a value: a number in text is that number, a date is in ISO 8601, an option is spelled as it is defined. */
export function readValue(value: Json | undefined, format: Format): Reading {
  if (isEmpty(value)) return EMPTY;
  const read = fitting(value as Json, format);
  return read === undefined ? MISFIT : { kind: 'fits', value: read };
}

export function isMisfit(value: Json | undefined, format: Format | undefined): boolean {
  return format !== undefined && readValue(value, format).kind === 'misfit';
}

function isEmpty(value: Json | undefined): boolean {
  if (value === null || value === undefined || value === '') return true;
  return isJson(value) && Object.keys(value).length === 0;
}

function fitting(value: Json, format: Format): Json | undefined {
  const isScalar = !isJson(value);
  const text = typeof value === 'string' ? value : undefined;
  const only = (fits: boolean) => (fits ? value : undefined);
  switch (format.type) {
    case 'text':
    case 'longText':
      return only(isScalar);
    case 'number':
    case 'currency':
    case 'percent':
      return isNumber(value) ? finite(value) : text === undefined ? undefined : finite(readNumber(text, format));
    case 'rating':
      return readRating(value, format.max ?? 5);
    case 'date':
    case 'dateTime':
      return text === undefined ? undefined : isIsoDate(text) ? text : toIsoDate(text, format.dateStyle);
    case 'checkbox':
      return isScalar ? readTruth(toText(value)) : undefined;
    case 'select':
      return optionNamed(value, format);
    case 'multiSelect':
      return optionsNamed(value, format);
    case 'url':
      return only(text !== undefined && isUrl(text));
    case 'email':
      return only(text !== undefined && isEmail(text));
    case 'phone':
      return isScalar ? readPhone(toText(value)) : undefined;
    case 'json':
      return only(text === undefined || isJsonText(text));
  }
}

/** Infinite numbers would end every sum. */
function finite(number: JsonNumber | undefined): JsonNumber | undefined {
  return number !== undefined && Number.isFinite(Number(number)) ? number : undefined;
}

function readNumber(text: string, format: Format): JsonNumber | undefined {
  const amount = readAmount(text);
  if (!amount) return undefined;
  const { number, sign } = amount;
  if (sign === '') return number;
  if (format.type === 'percent') return sign === '%' ? number : undefined;
  if (format.type === 'currency') return isSignOf(sign, format.currency ?? 'USD') ? number : undefined;
  return sign === '%' || isCurrencySign(sign) ? number : undefined;
}

function readRating(value: Json, max: number): number | undefined {
  const isRead = isNumber(value) || (typeof value === 'string' && /^\s*[+-]?(0|[1-9]\d*)(\.\d+)?\s*$/.test(value));
  const rating = isRead ? Number(value) : -1;
  return Number.isInteger(rating) && rating >= 0 && rating <= max ? rating : undefined;
}

function readTruth(text: string): boolean | undefined {
  const word = text.trim().toLowerCase();
  if (['true', 'yes', 'y', 'on', '1', '✓', '✔', '☑'].includes(word)) return true;
  return ['false', 'no', 'n', 'off', '0', '✗', '✘', '☐'].includes(word) ? false : undefined;
}

function optionNamed(value: Json, { options = [] }: Format): string | undefined {
  if (isJson(value)) return undefined;
  const text = toText(value);
  if (options.length === 0) return text;
  const wanted = text.trim().toLowerCase();
  return options.find((option) => option.value.toLowerCase() === wanted)?.value;
}

function optionsNamed(value: Json, format: Format): string[] | undefined {
  if (Array.isArray(value)) return all(value.map((item) => optionNamed(item, format)));
  if (isJson(value)) return undefined;
  const whole = format.options?.length ? optionNamed(value, format) : undefined;
  if (whole !== undefined) return [whole];
  const parts = toText(value).split(/[,;]/).map((part) => part.trim());
  return all(parts.filter(Boolean).map((part) => optionNamed(part, format)));
}

function all(names: readonly (string | undefined)[]): string[] | undefined {
  const known = names.filter((name) => name !== undefined);
  return known.length === names.length ? known : undefined;
}

function isJsonText(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}
