import { expect, test } from 'vitest';
import type { TriggerBody } from '../../src/api/types';
import { bodyOf, choiceOf, rowsOf } from '../../src/table/runs/runChoice';

const FILTERS: TriggerBody['filters'] = [{ columnId: 'a', operator: 'isEmpty' }];

test.each<[TriggerBody]>([
  [{}],
  [{ columnIds: ['a'] }],
  [{ rowIds: ['r1', 'r2'], columnIds: ['a', 'b'] }],
  [{ filters: FILTERS, search: 'x', sorting: [{ columnId: 'a', direction: 'asc' }] }],
  [{ filters: FILTERS, limit: 25 }],
  [{ statuses: ['error'] }],
  [{ statuses: ['error'], errorCodes: ['rate_limited'] }],
  [{ statuses: ['completed'], columnIds: ['a'] }],
  [{ force: true }],
])('%j is read as a choice and written again', (body) => {
  expect(bodyOf(choiceOf(body), body, { shown: rowsOf(body), rowIds: body.rowIds ?? [] })).toEqual(body);
});

test('another choice takes the place of the first', () => {
  const asked: TriggerBody = { filters: FILTERS, columnIds: ['a'] };
  const sources = { shown: rowsOf(asked), rowIds: ['r1'] };
  const choice = choiceOf(asked);
  expect(bodyOf({ ...choice, rows: 'all' }, asked, sources)).toEqual({ columnIds: ['a'] });
  expect(bodyOf({ ...choice, rows: 'first', first: 5 }, asked, sources)).toEqual({ filters: FILTERS, limit: 5, columnIds: ['a'] });
  expect(bodyOf({ ...choice, rows: 'selected', cells: 'again', columnIds: [] }, asked, sources)).toEqual({ rowIds: ['r1'], force: true });
});
