import type { DateStyle } from '../../api/types';

const MONTHS = ['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november', 'december'];
const ISO = /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?(?:[Zz]|[+-](\d{2})(?::?(\d{2}))?)?)?$/;
const TIME = /^(.*?)[ T,] *(\d{1,2}):(\d{1,2})(?::(\d{1,2}))?(?:\s*([ap]m))?\.?$/is;

/** Whether a text is a date in ISO 8601, with or without a time. */
export function isIsoDate(text: string): boolean {
  const parts = ISO.exec(text.trim());
  if (!parts) return false;
  const [, day = '', hour = '0', minute = '0', second = '0', offsetHour = '0', offsetMinute = '0'] = parts;
  return isRealDay(day) && Number(hour) < 24 && Number(minute) < 60 && Number(second) <= 60 && Number(offsetHour) < 24 && Number(offsetMinute) < 60;
}

/** A date as people write it (`31.01.2024`, `1/31/2024`, `Jan 31, 2024`) in ISO 8601; undefined if it is none. */
export function toIsoDate(whole: string, style: DateStyle | undefined): string | undefined {
  const text = whole.trim();
  if (text.length > 40) return undefined;
  const timed = splitTime(text);
  const date = timed?.date ?? text;
  const day = numericDay(date, style) ?? namedDay(date);
  if (day === undefined) return undefined;
  return timed ? `${day}T${timed.time}` : day;
}

function splitTime(text: string): { date: string; time: string } | undefined {
  const parts = TIME.exec(text);
  if (!parts) return undefined;
  const [, date = '', hourText = '', minute = '', second = '0', half] = parts;
  let hour = Number(hourText);
  if (half !== undefined) {
    if (hour < 1 || hour > 12) return undefined;
    hour = (hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0);
  }
  if (hour > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const time = [hour, Number(minute), Number(second)].map((part) => String(part).padStart(2, '0')).join(':');
  return { date: date.trimEnd().replace(/,$/, '').trimEnd(), time };
}

function numericDay(text: string, style: DateStyle | undefined): string | undefined {
  const parts = /^(\d{1,4})\s*([./-])\s*(\d{1,2})\s*\2\s*(\d{1,4})$/.exec(text);
  if (!parts) return undefined;
  const [, first = '', mark, second = '', third = ''] = parts;
  if (first.length === 4 && third.length <= 2) return isoDay(Number(first), Number(second), Number(third));
  if (first.length > 2 || third.length !== 4) return undefined;
  const isDayFirst = mark === '.' || Number(first) > 12 || (style === 'european' && Number(second) <= 12);
  return isDayFirst ? isoDay(Number(third), Number(second), Number(first)) : isoDay(Number(third), Number(first), Number(second));
}

/** `Jan 31, 2024`, `31 January 2024`, `31-Jan-2024`. */
function namedDay(text: string): string | undefined {
  const [first, second, year, ...more] = text.split(/[\s,-]+/).filter(Boolean);
  if (first === undefined || second === undefined || !/^\d{4}$/.test(year ?? '') || more.length > 0) return undefined;
  return named(Number(year), first, second) ?? named(Number(year), second, first);
}

function named(year: number, monthWord: string, dayWord: string): string | undefined {
  const word = monthWord.replace(/\.+$/, '').toLowerCase();
  const month = word.length < 3 ? -1 : MONTHS.findIndex((name) => name.startsWith(word));
  const day = /^(\d{1,2})(st|nd|rd|th)?\.*$/i.exec(dayWord)?.[1];
  return month < 0 || day === undefined ? undefined : isoDay(year, month + 1, Number(day));
}

function isoDay(year: number, month: number, day: number): string | undefined {
  const text = [String(year).padStart(4, '0'), String(month).padStart(2, '0'), String(day).padStart(2, '0')].join('-');
  return isRealDay(text) ? text : undefined;
}

/** Browsers take the 31st of February for a day in March. */
function isRealDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
