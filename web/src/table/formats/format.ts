import type { Format, FormatType } from '../../api/types';
import type { IconName } from '../../ui/iconPaths';

interface TypeInfo {
  label: string;
  icon: IconName;
  /** What fits, as an example. */
  example: string;
}

/** The types of values, in the order in which they are offered. */
export const TYPES: Readonly<Record<FormatType, TypeInfo>> = {
  text: { label: 'Text', icon: 'text', example: 'any text' },
  longText: { label: 'Long text', icon: 'lines', example: 'any text' },
  number: { label: 'Number', icon: 'hash', example: '1,200.50' },
  currency: { label: 'Currency', icon: 'coin', example: '$1,200' },
  percent: { label: 'Percent', icon: 'percent', example: '12 %' },
  date: { label: 'Date', icon: 'calendar', example: '2024-01-31' },
  dateTime: { label: 'Date and time', icon: 'calendar', example: '2024-01-31 10:30' },
  checkbox: { label: 'Checkbox', icon: 'checkbox', example: 'yes or no' },
  select: { label: 'Single select', icon: 'list', example: 'one of the options' },
  multiSelect: { label: 'Multiple select', icon: 'list', example: 'some of the options' },
  url: { label: 'URL', icon: 'external', example: 'https://example.com' },
  email: { label: 'E-mail', icon: 'mail', example: 'ada@example.com' },
  phone: { label: 'Phone', icon: 'phone', example: '+1 415 555 0100' },
  json: { label: 'JSON', icon: 'braces', example: '{"a": 1}' },
  rating: { label: 'Rating', icon: 'star', example: 'a whole number' },
};

export const TYPE_CHOICES = (Object.keys(TYPES) as FormatType[]).map((value) => ({ value, label: TYPES[value].label }));

export function hasOptions(format: Format | undefined): boolean {
  return format?.type === 'select' || format?.type === 'multiSelect';
}

/** What to say about a value that does not fit. */
export function misfitText(format: Format): string {
  const { label, example } = TYPES[format.type];
  const expected = format.type === 'rating' ? `a whole number from 0 to ${format.max ?? 5}` : example;
  return `This does not fit the type “${label}”, such as ${expected}. It is kept as it is.`;
}
