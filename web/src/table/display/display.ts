import { isExactNumber, isNumber, type JsonNumber, parseJson, readNumber } from '../../api/exactNumber';
import type { Json } from '../../api/types';
import { isJson, toText } from '../model/values';
import { colorOf } from './chipColors';
import { type ColumnStyle, PLAIN } from './columnStyle';
import { dateText } from './dates';
import type { Chip, Display } from './shown';
import { isWebAddress, shortAddress, summarize, titleOf } from './summary';
import { amountText, typedDisplay } from './typedDisplay';

export type { Chip, Display } from './shown';

/** Longer lists show a count and their first items. */
const CHIPS_MAX = 12;
/** Longer texts are not tested for JSON. */
const PARSED_MAX = 20_000;
/** An image that is in the text itself. */
const DATA_IMAGE = /^data:image\/(\w{2,8})[^,]{0,100};base64,/i;
const EMAIL = /^[^\s@<>,;:"]{1,64}@[^\s@<>,;:"]+\.[^\s@<>,;:"]{2,}$/;

// Remembered, because the grid draws the same cells again and again.
const objects = new WeakMap<object, Display>();
const texts = new Map<string, Display | undefined>();
const TEXTS_MAX = 2_000;

/** What a cell shows of a value. A value that does not fit the column's style is shown as what it is. */
export function displayOf(value: Json | undefined, style: ColumnStyle = PLAIN): Display {
  const typed = style.format && typedDisplay(value ?? null, style.format);
  if (typed) return typed;
  if (value === null || value === undefined) return { kind: 'text', text: '' };
  if (isJson(value)) return ofObject(value);
  if (typeof value === 'boolean') return checkbox(value);
  if (isNumber(value)) return { kind: 'number', text: numberText(value, style) };
  return ofText(value, style);
}

function ofText(text: string, style: ColumnStyle): Display {
  const trimmed = text.trim();
  if (style.kind === 'checkbox' && /^(true|false)$/i.test(trimmed)) return checkbox(trimmed.toLowerCase() === 'true');
  const number = style.kind === 'number' ? readNumber(trimmed) : undefined;
  if (number !== undefined && String(number) === trimmed) return { kind: 'number', text: numberText(number, style) };
  if (style.kind === 'select' && trimmed !== '') return chips([{ label: trimmed, color: style.colors?.get(trimmed) ?? colorOf(trimmed) }], trimmed);
  if (isWebAddress(trimmed)) {
    const url = /^www\./i.test(trimmed) ? `https://${trimmed}` : trimmed;
    return { kind: 'link', text, url };
  }
  const image = DATA_IMAGE.exec(trimmed);
  if (image) return { kind: 'text', text: `${image[1]?.toUpperCase()} image` };
  if (trimmed.length < 320 && EMAIL.test(trimmed)) return { kind: 'email', text: trimmed };
  const date = dateText(trimmed);
  if (date) return { kind: 'date', text: date };
  return parsed(trimmed) ?? { kind: 'text', text };
}

/** JSON that is stored as text, such as the answer of a model. */
function parsed(text: string): Display | undefined {
  if (!/^[[{]/.test(text) || !/[\]}]$/.test(text) || text.length > PARSED_MAX) return undefined;
  if (texts.has(text)) return texts.get(text);
  if (texts.size > TEXTS_MAX) texts.clear();
  const made = attempt(text);
  texts.set(text, made);
  return made;
}

function attempt(text: string): Display | undefined {
  try {
    return ofObject(parseJson(text) as Json[]);
  } catch {
    return undefined;
  }
}

function ofObject(value: Json[] | Record<string, Json>): Display {
  const known = objects.get(value);
  if (known) return known;
  const made = Array.isArray(value) ? ofList(value) : ofFields(value);
  objects.set(value, made);
  return made;
}

function ofList(items: Json[]): Display {
  if (items.length === 0) return { kind: 'fields', title: '', details: 'Empty list', text: 'Empty list' };
  const labels = items.slice(0, CHIPS_MAX).map((item) => (isJson(item) ? titleOf(item) : toText(item)) || '…');
  const isChoice = items.every((item) => typeof item === 'string' && item.length <= 30);
  const shown = labels.map((label): Chip => (isChoice ? { label, color: colorOf(label) } : { label }));
  const rest = items.length - shown.length;
  return chips(rest > 0 ? [...shown, { label: `${rest} more` }] : shown, labels.join(', ') + (rest > 0 ? ` and ${rest} more` : ''));
}

function ofFields(value: Record<string, Json>): Display {
  const { title, details } = summarize(value);
  return { kind: 'fields', title, details, text: [title, details].filter(Boolean).join(' · ') };
}

function chips(list: Chip[], text: string): Display {
  return { kind: 'chips', chips: list, text };
}

function checkbox(isChecked: boolean): Display {
  return { kind: 'checkbox', isChecked, text: isChecked ? 'Yes' : 'No' };
}

const GROUPED = new Intl.NumberFormat(undefined, { maximumFractionDigits: 12 });
/** Smaller numbers are easy to read without separators, and may be years. */
const GROUPED_MIN = 10_000;
/** Larger numbers are written with an exponent, which has no groups. */
const GROUPED_MAX = 1e21;

function numberText(value: JsonNumber, { isGrouped }: ColumnStyle): string {
  const size = Math.abs(Number(value));
  if (!isGrouped || size < GROUPED_MIN) return String(value);
  if (isExactNumber(value)) return amountText(value, { type: 'number' });
  return size < GROUPED_MAX ? GROUPED.format(value) : String(value);
}

/** The text of a display as it is drawn: links without their protocol. */
export function drawnLine(display: Display): string {
  return display.kind === 'link' ? shortAddress(display.url) : display.text;
}
