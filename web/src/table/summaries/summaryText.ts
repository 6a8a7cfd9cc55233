import type { ColumnSummary, Format } from '../../api/types';
import { formatNumber } from '../../ui/format';
import { amountText, typedDisplay } from '../display/typedDisplay';
import type { SummaryKind } from '../model/summaryKinds';

/** A figure below a column. */
export function summaryText(kind: SummaryKind, summary: ColumnSummary, rowCount: number, format?: Format): string {
  switch (kind) {
    case 'count':
      return formatNumber(rowCount);
    case 'filled':
    case 'empty':
      return formatNumber(summary[kind]);
    case 'unique':
      return summary.unique === null ? 'over 1,000,000' : formatNumber(summary.unique);
    case 'earliest':
    case 'latest':
      return dateOf(summary[kind], format);
    case 'average':
      return amountOf(summary.average === null ? null : rounded(summary.average), format);
    default:
      return amountOf(summary[kind], format);
  }
}

function dateOf(text: string | null, format: Format | undefined): string {
  if (text === null) return '–';
  return (format && typedDisplay(text, format)?.text) ?? text;
}

/** An amount as its column shows it. */
export function amountOf(amount: number | null, format: Format | undefined): string {
  if (amount === null) return '–';
  // Sums of fractions have digits that nobody entered: 0.30000000000000004.
  const plain = Number.isInteger(amount) ? amount : Number(amount.toPrecision(12));
  const isAmount = format && ['number', 'currency', 'percent'].includes(format.type);
  const text = amountText(plain, isAmount ? format : { type: 'number' });
  // The service computes figures as doubles: beyond 2^53 they may be rounded, although the cells are not.
  return Math.abs(amount) > Number.MAX_SAFE_INTEGER ? `≈ ${text}` : text;
}

/** An average with as many digits as are worth reading. */
function rounded(average: number): number {
  return Math.abs(average) >= 1 ? Math.round(average * 100) / 100 : Number(average.toPrecision(3));
}
