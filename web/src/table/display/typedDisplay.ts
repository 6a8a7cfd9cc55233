import { isExactNumber, type JsonNumber } from '../../api/exactNumber';
import type { DateStyle, Format, Json, OptionColor } from '../../api/types';
import { misfitText } from '../formats/format';
import { readValue } from '../formats/reading';
import { toText } from '../model/values';
import { colorOf } from './chipColors';
import { dateText } from './dates';
import type { Chip, Display } from './shown';

/** Places of the colours in the palette of chips; gray is the neutral chip. */
const COLORS: Readonly<Record<OptionColor, number | undefined>> = {
  gray: undefined,
  teal: 0,
  blue: 1,
  orange: 2,
  red: 3,
  purple: 4,
  green: 5,
  pink: 6,
  cyan: 7,
};

/** What a cell shows of a value that fits its column's type; undefined if values of the type say themselves what they are. */
export function typedDisplay(value: Json, format: Format): Display | undefined {
  const reading = readValue(value, format);
  if (reading.kind === 'empty') return format.type === 'checkbox' ? { kind: 'checkbox', isChecked: false, text: '' } : { kind: 'text', text: '' };
  if (reading.kind !== 'fits') return { kind: 'text', text: toText(value), misfit: misfitText(format) };
  const read = reading.value;
  const text = toText(value).trim();
  switch (format.type) {
    case 'number':
    case 'currency':
    case 'percent':
      return { kind: 'number', text: amountText(read as JsonNumber, format) };
    case 'rating':
      return { kind: 'rating', rating: Number(read), max: format.max ?? 5, text: `${Number(read)} of ${format.max ?? 5}` };
    case 'date':
    case 'dateTime':
      return { kind: 'date', text: dateIn(String(read), format) };
    case 'checkbox':
      return { kind: 'checkbox', isChecked: read === true, text: read === true ? 'Yes' : 'No' };
    case 'select':
      return chips([String(read)], format);
    case 'multiSelect':
      return chips(read as string[], format);
    case 'url':
      return { kind: 'link', text, url: /^https?:\/\//i.test(text) ? text : `https://${text}` };
    case 'email':
      return { kind: 'email', text };
    case 'text':
    case 'longText':
    case 'phone':
      return { kind: 'text', text: toText(value) };
    case 'json':
      return undefined;
  }
}

function chips(labels: readonly string[], format: Format): Display {
  return { kind: 'chips', chips: labels.map((label) => chipOf(label, format)), text: labels.join(', ') };
}

/** The chip of an option. */
export function chipOf(label: string, format: Format): Chip {
  const color = format.options?.find(({ value }) => value === label)?.color;
  const place = color === undefined ? colorOf(label) : COLORS[color];
  return place === undefined ? { label } : { label, color: place };
}

const formats = new Map<string, Intl.NumberFormat>();

/** Fraction digits of a double and of an exact number. */
const FRACTION_MAX = 12;
const EXACT_FRACTION_MAX = 20;
/** Exact numbers that are formatted; longer ones and those with an exponent are shown as they are stored. */
const FORMATTED = new RegExp(`^-?\\d{1,60}(\\.\\d{1,${EXACT_FRACTION_MAX}})?$`);

/** A number as the column's type shows it. */
export function amountText(value: JsonNumber, format: Format): string {
  const text = isExactNumber(value) ? exactText(value.text, format) : formatter(format, FRACTION_MAX).format(value);
  return format.type === 'percent' ? `${text} %` : text;
}

/** Browsers format the digits of a text without rounding them to a double. */
function exactText(digits: string, format: Format): string {
  return FORMATTED.test(digits) ? formatter(format, EXACT_FRACTION_MAX).format(digits as `${number}`) : digits;
}

function formatter({ type, currency = 'USD', decimals }: Format, fractionMax: number): Intl.NumberFormat {
  const key = `${type} ${currency} ${decimals} ${fractionMax}`;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.NumberFormat(undefined, {
      ...(type === 'currency' && ({ style: 'currency', currency } as const)),
      ...(decimals === undefined ? type !== 'currency' && { maximumFractionDigits: fractionMax } : { minimumFractionDigits: decimals, maximumFractionDigits: decimals }),
    });
    formats.set(key, format);
  }
  return format;
}

const LOCALES: Readonly<Record<Exclude<DateStyle, 'local' | 'iso'>, string>> = { us: 'en-US', european: 'en-GB' };

/** A date in ISO 8601 in the column's style, with the time if the column has times. */
function dateIn(iso: string, { type, dateStyle = 'local' }: Format): string {
  const shown = type === 'date' ? iso.slice(0, 10) : iso;
  if (dateStyle === 'local') return dateText(shown) ?? shown;
  if (dateStyle === 'iso') return shown.replace('T', ' ');
  const hasTime = shown.length > 10;
  const moment = new Date(hasTime ? shown.replace(' ', 'T') : `${shown}T00:00:00Z`);
  if (Number.isNaN(moment.getTime())) return shown;
  const day = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
  return moment.toLocaleString(LOCALES[dateStyle], hasTime ? { ...day, hour: '2-digit', minute: '2-digit' } : { ...day, timeZone: 'UTC' });
}
