/**
 * JSON with exact numbers. JavaScript rounds whole numbers beyond 2^53 (9007199254740993) and decimals with more digits
 * than a double has, and takes 1e400 for infinite. Here such numbers keep their digits, so that the page shows and
 * saves what is stored. All JSON is read and written by this file.
 */

/**
 * A JSON number that JavaScript would round, as its text. It is a class because `String(value)` must work, and because
 * libraries that copy plain objects leave it alone.
 */
export class ExactNumber {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }

  /** For `JSON.stringify`, which can write it only as a text. `stringifyJson` makes that a number. */
  toJSON(): string {
    return MARK + this.text;
  }
}

export type JsonNumber = number | ExactNumber;

export function isExactNumber(value: unknown): value is ExactNumber {
  return value instanceof ExactNumber;
}

export function isNumber(value: unknown): value is JsonNumber {
  return typeof value === 'number' || isExactNumber(value);
}

/**
 * Begins texts that stand for an exact number. It is random, so no stored text begins the same.
 *
 * `JSON.rawJSON` and the reviver's `context.source` would need no such texts, but Firefox has them only since version
 * 135, Safari since 18.4 and Node.js since 21. This way works everywhere.
 */
const MARK = `exact number ${[...crypto.getRandomValues(new Uint32Array(4))].join('-')}: `;
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g');
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** At least 16 digits, or an exponent of three: any other number fits into a double. Finding too many only takes time. */
const MAY_BE_LONG = /(?:^|[\s:,[])-?(?:\d[\d.]{15}|\d[\d.]*[eE][+-]?\d{3})/;
const DIGITS_ALWAYS_HELD = 15;

/** `JSON.parse` with exact numbers. */
export function parseJson(text: string): unknown {
  // Also says whether the text is JSON at all.
  const rounded: unknown = JSON.parse(text);
  if (!MAY_BE_LONG.test(text)) return rounded;
  const marked = text.replace(STRING_OR_NUMBER, (token) => (token.startsWith('"') || isHeld(token) ? token : `"${MARK}${token}"`));
  return marked === text ? rounded : JSON.parse(marked, unmark);
}

function unmark(_: string, value: unknown): unknown {
  return typeof value === 'string' && value.startsWith(MARK) ? new ExactNumber(value.slice(MARK.length)) : value;
}

/** `JSON.stringify` with exact numbers, and like it undefined for undefined. */
export function stringifyJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) as string | undefined;
  return (text?.includes(MARK) ? text.replace(MARKED, '$1') : text) as string;
}

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d+)?$/;

/** The number that a text is, such as a typed one: like `Number(text)`, but exact. Undefined if it is none. */
export function readNumber(text: string): JsonNumber | undefined {
  const parts = DECIMAL.exec(text.trim());
  const [, sign, whole = '', fraction = '', exponent = ''] = parts ?? [];
  if (parts && whole + fraction !== '') {
    // As JSON writes it: no plus, no leading zeros, and digits on both sides of the point.
    const json = `${sign === '-' ? '-' : ''}${whole.replace(/^0+(?=\d)/, '') || '0'}${fraction && `.${fraction}`}${exponent}`;
    return isHeld(json) ? Number(json) : new ExactNumber(json);
  }
  const other = Number(text);
  return text.trim() !== '' && Number.isSafeInteger(other) ? other : undefined;
}

/** Whether a double is this number: what JavaScript would write back has the same value. */
function isHeld(json: string): boolean {
  if (json.length <= DIGITS_ALWAYS_HELD && !/e/i.test(json)) return true;
  const written = String(Number(json));
  return written === json || (DECIMAL.test(written) && normalized(json) === normalized(written));
}

/** The same for `1.50`, `1.5` and `15e-1`. */
function normalized(json: string): string {
  const [, sign, whole = '', fraction = '', exponent = ''] = DECIMAL.exec(json) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  if (end === 0) return '0';
  const power = Number(exponent.slice(1) || 0) - fraction.length + digits.length - end;
  return `${sign}${digits.slice(0, end)}e${power}`;
}
