import { expect, test } from 'vitest';
import type { Json } from '../../src/api/types';
import { spent } from '../../src/table/columns/attempt';
import { hasChanges, newDraft } from '../../src/table/columns/draft';

test.each<[Record<string, Json>, string]>([
  [{}, '1.5 s'],
  [{ milliseconds: 420 }, '420 ms'],
  [{ milliseconds: 2300, cost: 0.0004, inputTokens: 1200, outputTokens: 34 }, '2.3 s · cost $0.0004 · 1,234 tokens'],
  [{ milliseconds: 900, credits: 1 }, '900 ms · cost 1 credit'],
])('a try with %j took %s', (meta, line) => {
  expect(spent(meta, 1500)).toBe(line);
});

test('what was typed and taken back is no change', () => {
  const start = newDraft('ai-text', 'Line', []);
  expect(hasChanges(start, {})).toBe(false);
  expect(hasChanges(start, { header: 'Lines' })).toBe(true);
  expect(hasChanges(start, { header: 'Line', aiConfig: { prompt: '' } })).toBe(false);
});
