import { stringifyJson } from '../../api/exactNumber';
import type { Json } from '../../api/types';

/** Limits of one request: what the service accepts, and small enough to show progress. */
const ITEMS_MAX = 5_000;
const LETTERS_MAX = 4_000_000;

/** Splits a list into batches that fit into one request each. */
export function* inBatches<T>(items: readonly T[], valueOf: (item: T) => Json): Generator<T[]> {
  let batch: T[] = [];
  let letters = 0;
  for (const item of items) {
    const size = stringifyJson(valueOf(item)).length + 80;
    if (batch.length > 0 && (batch.length >= ITEMS_MAX || letters + size > LETTERS_MAX)) {
      yield batch;
      [batch, letters] = [[], 0];
    }
    batch.push(item);
    letters += size;
  }
  if (batch.length > 0) yield batch;
}
