import type { Json } from '../../api/types';
import { counted, paid, took } from '../../ui/format';

/** What a try took, in one line: time, cost where the provider says it, words read and written. */
export function spent(meta: Record<string, Json>, milliseconds: number): string {
  const { milliseconds: told, inputTokens, outputTokens } = meta;
  const price = paid(meta);
  const tokens = [inputTokens, outputTokens].filter((number) => typeof number === 'number');
  return [
    took(typeof told === 'number' ? told : milliseconds),
    price && `cost ${price}`,
    tokens.length > 0 && counted(tokens.reduce((sum, number) => sum + number, 0), 'token'),
  ]
    .filter(Boolean)
    .join(' · ');
}
