import type { Json } from '../../api/types';
import { pluralize, formatCost, formatMilliseconds } from '../../ui/format';

/** What a try took, in one line: time, cost where the provider says it, words read and written. */
export function spent(meta: Record<string, Json>, milliseconds: number): string {
  const { milliseconds: told, inputTokens, outputTokens } = meta;
  const price = formatCost(meta);
  const tokens = [inputTokens, outputTokens].filter((number) => typeof number === 'number');
  return [
    formatMilliseconds(typeof told === 'number' ? told : milliseconds),
    price && `cost ${price}`,
    tokens.length > 0 && pluralize(tokens.reduce((sum, number) => sum + number, 0), 'token'),
  ]
    .filter(Boolean)
    .join(' · ');
}
