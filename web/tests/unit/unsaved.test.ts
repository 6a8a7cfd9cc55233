import { expect, test } from 'vitest';
import { Unsaved } from '../../src/ui/unsaved';

test('nothing unsaved, nothing asked', () => {
  const unsaved = new Unsaved();
  const done: string[] = [];
  unsaved.guard(() => done.push('closed'));
  expect(done).toEqual(['closed']);
});

test('what is unsaved is kept until somebody agrees to lose it', () => {
  const unsaved = new Unsaved();
  const done: string[] = [];
  unsaved.set('panel', true);
  unsaved.guard(() => done.push('closed'));
  expect(done).toEqual([]);
  unsaved.cancel();
  expect([unsaved.isAny, unsaved.pending]).toEqual([true, undefined]);
  unsaved.guard(() => done.push('closed'));
  unsaved.discard();
  expect([unsaved.isAny, unsaved.pending, ...done]).toEqual([false, undefined, 'closed']);
});
