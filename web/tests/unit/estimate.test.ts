import { expect, test } from 'vitest';
import type { TriggerBody } from '../../src/api/types';
import { estimateRun, withoutManualValues } from '../../src/table/runs/estimate';

async function check(body: TriggerBody, columnIds: string[], expected: { cells: number; isAtMost: boolean; asked: number }) {
  const asked: TriggerBody[] = [];
  const measured = await estimateRun(body, columnIds, (part) => {
    asked.push(part);
    return Promise.resolve(part.columnIds?.[0] === 'done' ? 0 : 30);
  });
  expect({ cells: measured.cells, isAtMost: measured.isAtMost, asked: asked.length }).toEqual(expected);
}

test('cells are counted column by column', async () => {
  await check({}, ['a', 'b', 'done'], { cells: 60, isAtMost: false, asked: 3 });
  await check({ columnIds: ['a'] }, ['a'], { cells: 30, isAtMost: false, asked: 1 });
  await check({}, [], { cells: 0, isAtMost: false, asked: 0 });
});

test('where that would be much, the most there can be is said', async () => {
  const many = Array.from({ length: 20 }, (_, index) => `c${index}`);
  await check({}, many, { cells: 600, isAtMost: true, asked: 1 });
  const rowIds = Array.from({ length: 2000 }, (_, index) => `row_${index}`);
  await check({ rowIds }, ['a', 'b'], { cells: 60, isAtMost: true, asked: 1 });
});

test('what people wrote can be left out of a run of one column', () => {
  const left = { conjunction: 'not', filters: [{ columnId: 'a', operator: 'isManual' }] };
  expect(withoutManualValues({ force: true, columnIds: ['a'] })).toEqual({ force: true, columnIds: ['a'], filters: [left] });
  const before = { columnId: 'b', operator: 'isEmpty' as const };
  expect(withoutManualValues({ columnIds: ['a'], filters: [before] })?.filters).toEqual([before, left]);
  expect(withoutManualValues({ columnIds: ['a', 'b'] })).toBeUndefined();
  expect(withoutManualValues({ force: true })).toBeUndefined();
});
