import { expect, test } from 'vitest';
import { type UndoStep, UndoStack } from '../../src/table/rows/undo';

const step = (rowId: string, madeRowIds: string[] = []): UndoStep => ({
  cells: [{ rowId, columnId: 'a', before: null, after: rowId }],
  madeRowIds,
});

test('undo and redo walk the same steps; a new one forgets what was undone', () => {
  const stack = new UndoStack();
  stack.push(step('1'));
  stack.push(step('2'));
  expect(stack.undo()?.cells[0]?.rowId).toBe('2');
  expect(stack.redo()?.cells[0]?.rowId).toBe('2');
  stack.undo();
  stack.push(step('3'));
  expect([stack.canRedo, stack.undo()?.cells[0]?.rowId, stack.undo()?.cells[0]?.rowId, stack.undo()]).toEqual([false, '3', '1', undefined]);
});

test('keeps a bounded number of steps', () => {
  const stack = new UndoStack(2);
  for (const id of ['1', '2', '3']) stack.push(step(id));
  stack.undo();
  stack.undo();
  expect(stack.canUndo).toBe(false);
});

test('rows made again are found by their new ids', () => {
  const stack = new UndoStack();
  stack.push(step('old', ['old']));
  stack.push(step('old'));
  stack.rename(new Map([['old', 'new']]));
  expect([stack.undo()?.cells[0]?.rowId, stack.undo()?.madeRowIds]).toEqual(['new', ['new']]);
});
