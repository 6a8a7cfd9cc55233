import type { Json } from '../../api/types';
import { pluralize, formatCost, formatMilliseconds } from '../../ui/format';

/** Time, cost and tokens of a try in one line, as far as the provider reports them. */
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
