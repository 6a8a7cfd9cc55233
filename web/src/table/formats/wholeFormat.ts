import type { ColumnPatch, Format } from '../../api/types';

/** A format as a change that replaces the stored one: a change is merged, so settings that are not set are cleared. */
export function wholeFormat(format: Format | null): ColumnPatch['format'] {
  return format && { strict: false, currency: null, decimals: null, dateStyle: null, options: null, max: null, ...format };
}
