import { expect, test } from 'vitest';
import { Unsaved } from '../../src/ui/unsaved';

test('nothing unsaved, nothing asked', () => {
  const unsaved = new Unsaved();
  const done: string[] = [];
  unsaved.first(() => done.push('closed'));
  expect(done).toEqual(['closed']);
});

test('what is unsaved is kept until somebody agrees to lose it', () => {
  const unsaved = new Unsaved();
  const done: string[] = [];
  unsaved.set('panel', true);
  unsaved.first(() => done.push('closed'));
  expect(done).toEqual([]);
  unsaved.keep();
  expect([unsaved.isAny, unsaved.waiting]).toEqual([true, undefined]);
  unsaved.first(() => done.push('closed'));
  unsaved.discard();
  expect([unsaved.isAny, unsaved.waiting, ...done]).toEqual([false, undefined, 'closed']);
});
