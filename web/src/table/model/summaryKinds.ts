import type { Format } from '../../api/types';

/** What the bar below the table says of a column. */
export type SummaryKind = 'count' | 'filled' | 'empty' | 'unique' | 'sum' | 'average' | 'min' | 'max' | 'earliest' | 'latest';

export const SUMMARY_LABELS: Readonly<Record<SummaryKind, string>> = {
  count: 'Count',
  filled: 'Filled',
  empty: 'Empty',
  unique: 'Unique',
  sum: 'Sum',
  average: 'Average',
  min: 'Min',
  max: 'Max',
  earliest: 'Earliest',
  latest: 'Latest',
};

const COUNTS: readonly SummaryKind[] = ['count', 'filled', 'empty', 'unique'];
const AMOUNTS: readonly SummaryKind[] = ['sum', 'average', 'min', 'max'];

/** The summaries that make sense for values of a type. */
export function summaryKinds(format: Pick<Format, 'type'> | undefined): readonly SummaryKind[] {
  switch (format?.type) {
    case undefined:
    case 'number':
    case 'currency':
    case 'percent':
    case 'rating':
      return [...AMOUNTS, ...COUNTS];
    case 'date':
    case 'dateTime':
      return ['earliest', 'latest', ...COUNTS];
    default:
      return COUNTS;
  }
}
