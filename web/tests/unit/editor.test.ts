import { expect, test } from 'vitest';
import { parseJson, stringifyJson } from '../../src/api/exactNumber';
import type { Cell, Column, Json, Row } from '../../src/api/types';
import { Editor, type UndoResult } from '../../src/table/rows/editor';

const COLUMNS = [{ id: 'a', type: 'manual' }, { id: 'ai', type: 'ai' }] as Column[];

/** In-memory service; none of its rows is loaded in the store. */
function world(values: Record<string, Record<string, Json>>) {
  const rows = new Map<string, Record<string, Json>>(Object.entries(values));
  const trash = new Map<string, Record<string, Json>>();
  const told: UndoResult[] = [];
  let made = 0;
  const cell = (value: Json): Cell => ({ value, status: 'idle' });
  const row = (id: string, body: Record<string, Json>): Row => ({
    id,
    cells: Object.fromEntries(Object.entries(body).map(([columnId, value]) => [columnId, cell(value)])),
  });
  const options: ConstructorParameters<typeof Editor>[0] = {
    api: {
      writeCells: async (cells) => cells.forEach(({ rowId, columnId, value }) => rows.set(rowId, { ...rows.get(rowId), [columnId]: value })),
      insertRows: async (bodies, ids) =>
        bodies.forEach((body) => {
          made += 1;
          rows.set(`made${made}`, { ...body });
          ids.push(`made${made}`);
        }),
      deleteRows: async (ids) => {
        for (const id of ids) trash.set(id, rows.get(id) ?? {});
        return ids.filter((id) => rows.delete(id)).length;
      },
      restoreRows: async (ids) => {
        const back = ids.filter((id) => trash.has(id));
        for (const id of back) rows.set(id, trash.get(id) ?? {});
        for (const id of back) trash.delete(id);
        return { restored: back.length, kept: [] };
      },
      readRows: async (ids) => new Map(ids.flatMap((id) => (rows.has(id) ? [[id, row(id, rows.get(id) ?? {})]] : []))),
    },
    store: () => ({ indexOf: () => undefined, rowAt: () => undefined, patch: () => {}, startAdding: () => {}, finishAdding: () => {}, refresh: () => {} }),
    columns: () => COLUMNS,
    onError: (error) => {
      throw error;
    },
    onChange: () => {},
    onUndone: (undone) => told.push(undone),
  };
  const editor = new Editor(options);
  return { editor, options, rows, trash, told, stored: () => Object.fromEntries(rows), row };
}

test('what was written while the service was away can be sent again', async () => {
  const errors: { again?: (() => void) | undefined }[] = [];
  const { editor, stored, options } = world({ 1: { a: 'x' } });
  const { writeCells } = options.api;
  options.onError = (_, again) => errors.push({ again });
  options.api.writeCells = () => Promise.reject(new Error('away'));
  expect(await editor.change([{ rowId: '1', columnId: 'a', value: 'mine', before: { value: 'x', status: 'idle' } }])).toBe(false);
  options.api.writeCells = writeCells;
  errors[0]?.again?.();
  await expect.poll(stored).toEqual({ 1: { a: 'mine' } });
});

test('rows that may have been taken are sent again by the name they had, and what is left of them only', async () => {
  const again: (() => void)[] = [];
  const { editor, stored, options } = world({ 1: { a: 'x' } });
  const { insertRows, writeCells } = options.api;
  const names: string[] = [];
  options.onError = (_, retry) => retry && again.push(retry);
  options.api.insertRows = async (bodies, ids, _, name) => {
    names.push(name?.(0) ?? '');
    await insertRows(bodies.slice(0, 1), ids);
    names.push(name?.(1) ?? '');
    throw new Error('away');
  };
  const before = { value: 'x', status: 'idle' as const };
  expect(await editor.change([{ rowId: '1', columnId: 'a', value: 'y', before }], [{ a: 'one' }, { a: 'two' }])).toBe(false);
  options.api.writeCells = async (cells) => expect(cells, 'what was written is not written again').toEqual([]);
  options.api.insertRows = async (bodies, ids, _, name) => {
    names.push(name?.(0) ?? '');
    await insertRows(bodies, ids);
  };
  again[0]?.();
  await expect.poll(stored).toEqual({ 1: { a: 'y' }, made1: { a: 'one' }, made2: { a: 'two' } });
  expect(names[2]).toBe(names[1]);
  expect(new Set(names).size).toBe(2);
  options.api.writeCells = writeCells;
  await editor.undo();
  expect(stored()).toEqual({ 1: { a: 'y' }, made1: { a: 'one' } });
  await editor.undo();
  expect(stored()).toEqual({ 1: { a: 'x' } });
});

test('what is typed into a row that was not saved can be sent once the row is', async () => {
  const again: (() => void)[] = [];
  const shown: Row[] = [];
  const { editor, stored, options } = world({});
  const { insertRows } = options.api;
  const store = options.store();
  options.store = () => ({ ...store, startAdding: (rows) => shown.push(...rows) });
  options.onError = (_, retry) => retry && again.push(retry);
  options.api.insertRows = () => Promise.reject(new Error('away'));
  const adding = editor.change([], [{ a: 'one' }]);
  const writing = editor.change([{ rowId: shown[0]?.id ?? '', columnId: 'ai', value: 'more' }]);
  expect([await adding, await writing]).toEqual([false, false]);
  options.api.insertRows = insertRows;
  again.forEach((retry) => retry());
  await expect.poll(stored).toEqual({ made1: { a: 'one', ai: 'more' } });
});

test('undo leaves alone what somebody else has changed since', async () => {
  const { editor, rows, told, stored } = world({ 1: { a: 'x' }, 2: { a: 'y' } });
  await editor.change([
    { rowId: '1', columnId: 'a', value: 'mine', before: { value: 'x', status: 'idle' } },
    { rowId: '2', columnId: 'a', value: 'mine', before: { value: 'y', status: 'idle' } },
  ]);
  rows.set('2', { a: 'theirs' });
  await editor.undo();
  expect(stored()).toEqual({ 1: { a: 'x' }, 2: { a: 'theirs' } });
  expect(told[0]).toMatchObject({ skippedCells: 1, manualCells: [] });
  await editor.redo();
  expect(stored()).toEqual({ 1: { a: 'mine' }, 2: { a: 'theirs' } });
});

test('a value that a column had filled in comes back, and it is said that it counts as written by hand', async () => {
  const { editor, told, stored } = world({ 1: { ai: 'found' }, 2: { ai: 'typed' } });
  await editor.change([
    { rowId: '1', columnId: 'ai', value: null, before: { value: 'found', status: 'completed' } },
    { rowId: '2', columnId: 'ai', value: null, before: { value: 'typed', status: 'completed', manual: true } },
  ]);
  await editor.undo();
  expect(stored()).toEqual({ 1: { ai: 'found' }, 2: { ai: 'typed' } });
  expect(told[0]?.manualCells.map(({ rowId }) => rowId)).toEqual(['1']);
});

test('rows that were added go again, unless somebody has written into them', async () => {
  const { editor, rows, told, stored } = world({});
  await editor.change([], [{ a: 'one' }, { a: 'two' }]);
  rows.set('made2', { a: 'theirs' });
  await editor.undo();
  expect(stored()).toEqual({ made2: { a: 'theirs' } });
  expect(told[0]).toMatchObject({ keptRows: 1 });
  await editor.redo();
  expect(stored()).toEqual({ made2: { a: 'theirs' }, made1: { a: 'one' } });
});

test('what a column held that was deleted since is left out', async () => {
  const { editor, stored, row, trash } = world({ 1: { a: 'x', old: 'y' } });
  await editor.change([{ rowId: '1', columnId: 'old', value: null, before: { value: 'y', status: 'idle' } }]);
  await editor.undo();
  expect(stored()).toEqual({ 1: { a: 'x', old: null } });
  await editor.remove([row('1', { a: 'x', old: null })]);
  trash.clear();
  await editor.undo();
  expect(stored(), 'the trash was emptied').toEqual({ made1: { a: 'x' } });
});

test('rows that were deleted come back as they were, also when something else was done since', async () => {
  const { editor, told, stored, row } = world({ 1: { a: 'x', ai: 'found' }, 2: { a: 'y' } });
  const step = await editor.remove([row('1', { a: 'x', ai: 'found' })]);
  await editor.change([{ rowId: '2', columnId: 'a', value: 'z', before: { value: 'y', status: 'idle' } }]);
  await editor.undo(step);
  expect(stored()).toEqual({ 1: { a: 'x', ai: 'found' }, 2: { a: 'z' } });
  expect(told[0]).toMatchObject({ recreatedRows: 0, unrestoredRows: 0, manualCells: [] });
  await editor.undo(step);
  await editor.redo();
  expect(stored()).toEqual({ 2: { a: 'z' } });
});

test('rows that are not in the trash any more are created again, and it is said what that means', async () => {
  const { editor, told, stored, row, trash } = world({ 1: { a: 'x', ai: 'found' }, 2: { a: 'y' } });
  const step = await editor.remove([row('1', { a: 'x', ai: 'found' })]);
  trash.clear();
  await editor.undo(step);
  expect(stored()).toEqual({ 2: { a: 'y' }, made1: { a: 'x', ai: 'found' } });
  expect(told[0]).toMatchObject({ recreatedRows: 1, manualCells: [{ rowId: 'made1', columnId: 'ai' }] });
});

test('rows that were never loaded come back too, and a guest keeps one row', async () => {
  const { editor, told, stored, options } = world({ 1: { a: 'x' }, 2: { a: 'y' }, 3: { a: 'z' } });
  const step = await editor.removeAll([{ id: '1' }, { id: '2' }]);
  const { restoreRows } = options.api;
  options.api.restoreRows = async (ids) => ({ ...(await restoreRows(ids.filter((id) => id !== '2'))), kept: ['2'] });
  await editor.undo(step);
  expect(stored()).toEqual({ 1: { a: 'x' }, 3: { a: 'z' } });
  expect(told[0]).toMatchObject({ recreatedRows: 0, unrestoredRows: 1 });
});

test('numbers that JavaScript would round are undone, redone and created again with all their digits', async () => {
  const [large, next] = [parseJson('9007199254740993') as Json, parseJson('9007199254740995') as Json];
  const { editor, stored, trash, row } = world({ 1: { a: large } });
  const holds = (text: string) => expect(stringifyJson(stored())).toBe(text);
  await editor.change([{ rowId: '1', columnId: 'a', value: next, before: { value: large, status: 'idle' } }]);
  holds('{"1":{"a":9007199254740995}}');
  await editor.undo();
  holds('{"1":{"a":9007199254740993}}');
  await editor.redo();
  holds('{"1":{"a":9007199254740995}}');
  await editor.remove([row('1', { a: next })]);
  trash.clear();
  await editor.undo();
  holds('{"made1":{"a":9007199254740995}}');
});
