const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const NUMBER = new Intl.NumberFormat('en');
const NUMBER_SHORT = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** How long ago, in words. */
export function timeAgo(timestamp: string, now = Date.now()): string {
  const seconds = (Date.parse(timestamp) - now) / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.round(seconds / size), unit);
  }
  return 'just now';
}

export function formatNumber(number: number): string {
  return NUMBER.format(number);
}

const NUMBER_COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** `950`, `12.3K`: for places with little room. */
export function formatShort(number: number): string {
  return number < 1000 ? String(number) : NUMBER_COMPACT.format(number);
}

/** `950 bytes`, `1.2 MB`: decimal units. */
export function formatBytes(bytes: number): string {
  const units = ['kB', 'MB', 'GB', 'TB'];
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length);
  if (step === 0) return pluralize(bytes, 'byte');
  return `${NUMBER_SHORT.format(bytes / 1000 ** step)} ${units[step - 1]}`;
}

/** `3 rows`, `1 row`. */
export function pluralize(number: number, noun: string): string {
  return `${formatNumber(number)} ${noun}${number === 1 ? '' : 's'}`;
}

const CENTS = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD' });
const FRACTIONS = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumSignificantDigits: 2 });

/** An amount in US dollars, precise enough for fractions of a cent. */
export function formatDollars(dollars: number): string {
  return dollars > 0 && dollars < 0.01 ? FRACTIONS.format(dollars) : CENTS.format(dollars);
}

/** The known cost, as providers report it or by the price list: `$1.20, 3 credits`. */
export function formatCost({ cost, listCost, credits }: { cost?: unknown; listCost?: unknown; credits?: unknown }): string {
  const known = [cost, listCost].filter((amount) => typeof amount === 'number');
  const dollars = known.length > 0 && formatDollars(known.reduce((sum, amount) => sum + amount, 0));
  const parts = [dollars, typeof credits === 'number' && pluralize(credits, 'credit')];
  return parts.filter(Boolean).join(', ');
}

/** A cost where there is little room: `$0.25`, `$12`, `$1.2K`, `<$0.01`, and `40 cr` where only credits were paid. */
export function formatCostShort({ usd = 0, credits = 0 }: { usd?: number | undefined; credits?: number | undefined }): string {
  if (usd >= 9.995) return `$${formatShort(Math.round(usd))}`;
  if (usd >= 0.005) return CENTS.format(usd);
  if (usd > 0) return '<$0.01';
  return credits > 0 ? `${formatShort(Math.ceil(credits))} cr` : '';
}

/** A duration in words. */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '';
  if (seconds < 1) return 'less than a second';
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** How long something took. */
export function formatMilliseconds(milliseconds: number): string {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

/** A moment to come in the reader's words: `at 18:30:05`, `tomorrow at 02:00`, `on 1 Dec at 02:00`. */
export function formatMoment(timestamp: string, now = Date.now()): string {
  const then = new Date(timestamp);
  const days = Math.round((midnight(then) - midnight(new Date(now))) / 86_400_000);
  const isSoon = Math.abs(then.getTime() - now) < 600_000;
  const time = then.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', ...(isSoon && { second: '2-digit' }) });
  if (days === 0) return `at ${time}`;
  if (days === 1) return `tomorrow at ${time}`;
  return `on ${then.toLocaleDateString([], { day: 'numeric', month: 'short' })} at ${time}`;
}

function midnight(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}
