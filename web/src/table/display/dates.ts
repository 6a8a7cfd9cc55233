const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MOMENT = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?( ?(Z|[+-]\d{2}:?\d{2}))?$/;

// A day has no time zone. It must stay the same day wherever it is read.
const DAY_FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const MOMENT_FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

const known = new Map<string, string | undefined>();
const KNOWN_MAX = 5_000;

/** A date or time in ISO 8601 in the reader's format; undefined for any other text. */
export function dateText(text: string): string | undefined {
  if (text.length > 35 || !/^\d{4}-/.test(text)) return undefined;
  if (known.has(text)) return known.get(text);
  if (known.size > KNOWN_MAX) known.clear();
  const made = formatted(text);
  known.set(text, made);
  return made;
}

function formatted(text: string): string | undefined {
  const day = text.slice(0, 10);
  if (!DAY.test(day) || !isRealDay(day)) return undefined;
  if (DAY.test(text)) return DAY_FORMAT.format(new Date(text));
  if (!MOMENT.test(text)) return undefined;
  const moment = new Date(text.replace(' ', 'T').replace(/ (?=[Z+-])/, ''));
  return Number.isNaN(moment.getTime()) ? undefined : MOMENT_FORMAT.format(moment);
}

/** Browsers take the 31st of February for a day in March. */
function isRealDay(day: string): boolean {
  const date = new Date(day);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
