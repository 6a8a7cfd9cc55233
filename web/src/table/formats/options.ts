import type { Format, FormatType, Json, OptionColor, SelectOption } from '../../api/types';
import { hasOptions } from './format';
import { readValue } from './reading';

export const COLORS: OptionColor[] = ['teal', 'blue', 'orange', 'red', 'purple', 'green', 'pink', 'cyan', 'gray'];

/** More values than this are no options. */
const OPTIONS_MAX = 50;

/** A type with its first settings. A select starts with the values that are there as its options. */
export function formatOf(type: FormatType, samples: readonly Json[]): Format {
  const format: Format = { type };
  return hasOptions(format) ? { ...format, options: optionsIn(samples, format) } : format;
}

function optionsIn(samples: readonly Json[], format: Format): SelectOption[] {
  const values = new Map<string, string>();
  for (const sample of samples) {
    const reading = readValue(sample, format);
    const names = reading.kind !== 'fits' ? [] : Array.isArray(reading.value) ? reading.value : [reading.value];
    for (const name of names) {
      const value = String(name).trim().slice(0, 200);
      if (value && !values.has(value.toLowerCase())) values.set(value.toLowerCase(), value);
    }
    if (values.size > OPTIONS_MAX) return [];
  }
  return [...values.values()].map((value, place) => ({ value, color: colorAt(place) }));
}

/** Options get the colours in turn. */
export function colorAt(place: number): OptionColor {
  return COLORS[place % (COLORS.length - 1)] ?? 'gray';
}
