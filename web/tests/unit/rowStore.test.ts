import { expect, test, vi } from 'vitest';
import type { Cell, Row } from '../../src/api/types';
import { EVERY_ROW, type RowPage, type RowQuery } from '../../src/table/rows/rowQuery';
import { RowStore } from '../../src/table/rows/rowStore';

const cell = (value: string): Cell => ({ value, status: 'completed' });
const row = (id: string, value = id): Row => ({ id, cells: { a: cell(value) } });

/** A store whose page requests are answered when the test says so. */
function open(query: RowQuery = EVERY_ROW) {
  const asked: { page: number; answer: (page: RowPage) => void }[] = [];
  const store = new RowStore({
    query,
    pageSize: 10,
    refreshDelayMilliseconds: 5,
    fetchPage: (page) => new Promise((answer) => asked.push({ page, answer })),
    onError: (error) => expect.unreachable(String(error)),
  });
  store.open();
  return { store, asked };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

async function filled(query?: RowQuery) {
  const opened = open(query);
  opened.asked[0]?.answer({ rows: [row('r0'), row('r1'), row('r2')], total: 3 });
  await settled();
  return opened;
}

test('an event changes the row in sight and tells which one', async () => {
  const { store } = await filled();
  const damage = vi.fn();
  store.subscribe(damage);
  store.apply({ rows: [row('r1', 'new'), row('elsewhere')], deleted: [] });
  expect(store.rowAt(1)?.cells.a).toEqual(cell('new'));
  expect(damage.mock.calls).toEqual([[[1]]]);
});

test('a row that comes while its page is under way is asked for again', async () => {
  const { store, asked } = await filled();
  store.refresh();
  store.resize(4);
  asked[1]?.answer({ rows: [row('r0'), row('r1'), row('r2')], total: 3 });
  await settled();
  expect(store.total).toBe(4);
  expect(store.rowAt(2)?.id).toBe('r2');
  asked[2]?.answer({ rows: [row('r0'), row('r1'), row('r2'), row('r3')], total: 4 });
  await settled();
  expect([store.total, store.rowAt(3)?.id, asked.length]).toEqual([4, 'r3', 3]);
});

test('an answer that was asked for before an event does not undo it', async () => {
  const { store, asked } = await filled();
  store.refresh();
  store.apply({ rows: [row('r1', 'new')], deleted: [] });
  asked[1]?.answer({ rows: [row('r0'), row('r1', 'old'), row('r2')], total: 3 });
  await settled();
  expect(store.rowAt(1)?.cells.a).toEqual(cell('new'));
});

test('a deleted row has what follows it read again', async () => {
  const { store, asked } = await filled();
  store.apply({ rows: [], deleted: ['r1'] });
  store.resize(2);
  asked.at(-1)?.answer({ rows: [row('r0'), row('r2')], total: 2 });
  await settled();
  expect([store.total, store.rowAt(1)?.id]).toEqual([2, 'r2']);
});

test('a filtered list is read again once changes have gathered', async () => {
  const { store, asked } = await filled({ ...EVERY_ROW, search: 'r' });
  store.apply({ rows: [row('r1', 'new')], deleted: [] });
  store.apply({ rows: [row('r7')], deleted: [] });
  expect(asked.length).toBe(1);
  await vi.waitFor(() => expect(asked.length).toBe(2));
});

test('rows being added stand at the end, and are counted once', async () => {
  const { store } = await filled();
  const added = [row('new_1', 'x')];
  store.startAdding(added);
  expect([store.total, store.rowAt(3)?.id]).toEqual([4, 'new_1']);
  store.resize(4);
  store.finishAdding(added, ['r3']);
  expect([store.total, store.rowAt(3)?.id, store.rowAt(4)]).toEqual([4, 'r3', undefined]);
});

test('rows that were refused go away again', async () => {
  const { store } = await filled();
  const added = [row('new_1')];
  store.startAdding(added);
  store.finishAdding(added, undefined);
  expect(store.total).toBe(3);
});
