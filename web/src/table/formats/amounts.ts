import { type JsonNumber, readNumber } from '../../api/exactNumber';

/** A number in text, and what is written beside it. The service reads amounts the same way. */
export interface Amount {
  number: JsonNumber;
  /** A currency's sign or code, `%`, or nothing. */
  sign: string;
}

const PLAIN = /^[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const SIGNS = /[-\u2212+]/;
const GROUP_MARKS = ".,\u0020'\u2019\u00a0\u202f\u2009";

/** Reads a text that is one number, such as `1,200.50`, `1.200,50`, `$5`, `12 %` or `(3)`. */
export function readAmount(whole: string): Amount | undefined {
  const text = whole.trim();
  const plain = PLAIN.test(text) ? readNumber(text) : undefined;
  if (plain !== undefined) return { number: plain, sign: '' };
  const isInBrackets = text.startsWith('(') && text.endsWith(')');
  const inner = isInBrackets ? text.slice(1, -1).trim() : text;
  const parts = /^(\D*)(\d(?:.*\d)?)(\D*)$/s.exec(inner);
  if (!parts) return undefined;
  const signed = withoutSign(parts[1] ?? '');
  if (!signed || (isInBrackets && signed.isMinus)) return undefined;
  const isFraction = signed.rest === '.';
  const digits = plainDigits(parts[2] ?? '');
  if (digits === undefined || (isFraction && digits.includes('.'))) return undefined;
  const before = isFraction ? '' : signed.rest;
  const after = (parts[3] ?? '').trim();
  if (before && after) return undefined;
  const minus = signed.isMinus || isInBrackets ? '-' : '';
  const number = readNumber(`${minus}${isFraction ? '.' : ''}${digits}`);
  return number === undefined ? undefined : { number, sign: before || after };
}

function withoutSign(text: string): { rest: string; isMinus: boolean } | undefined {
  const before = text.trim();
  const first = before.charAt(0);
  const last = before.charAt(before.length - 1);
  const sign = SIGNS.test(first) ? first : SIGNS.test(last) ? last : '';
  const rest = (sign === '' ? before : sign === first ? before.slice(1) : before.slice(0, -1)).trim();
  return SIGNS.test(rest) ? undefined : { rest, isMinus: sign !== '' && sign !== '+' };
}

/** Digits with separators as digits alone, with a point before the fraction. */
function plainDigits(text: string): string | undefined {
  const mark = decimalMark(text);
  const at = mark === undefined ? -1 : text.indexOf(mark);
  const whole = withoutGroups(at < 0 ? text : text.slice(0, at));
  const fraction = at < 0 ? undefined : text.slice(at + 1);
  if (whole === undefined || (fraction !== undefined && !/^\d*$/.test(fraction))) return undefined;
  const significant = whole.replace(/^0+/, '') || '0';
  return fraction === undefined ? significant : `${significant}.${fraction}`;
}

function decimalMark(text: string): string | undefined {
  const points = text.split('.').length - 1;
  const commas = text.split(',').length - 1;
  if (points === 0 && commas === 0) return undefined;
  if (points === 0 && commas === 1) return /^[^0,][^,]*,...$/.test(text) ? undefined : ',';
  if (points === 1 && commas === 0) return '.';
  if (points === 0 || commas === 0) return undefined;
  const last = text.lastIndexOf('.') > text.lastIndexOf(',') ? '.' : ',';
  return text.split(last).length === 2 ? last : undefined;
}

/** The last group has three digits, those between two or three (as in India). */
function withoutGroups(text: string): string | undefined {
  const mark = /\D/.exec(text)?.[0];
  if (mark === undefined) return text;
  if (!GROUP_MARKS.includes(mark)) return undefined;
  const groups = text.split(mark);
  const isRight = groups.every((group, place) => (place === groups.length - 1 ? /^\d{3}$/ : place === 0 ? /^\d{1,3}$/ : /^\d{2,3}$/).test(group));
  return isRight ? groups.join('') : undefined;
}
