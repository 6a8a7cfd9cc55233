import { expect, test } from 'vitest';
import LOOKUP from '../../../crates/model/src/lookup.rs?raw';
import type { Estimate, TriggerBody } from '../../src/api/types';
import { ALL_DISABLED } from '../../src/table/model/lookups';
import { basisText, batchText, costFigure, estimateRun, notRunText, timeFigure, withoutManualValues } from '../../src/table/runs/estimate';

const BASIS = { header: 'A', from: 'last_cells' as const, sample: 5 };

function answer(cells: number[]): Estimate {
  const basis = cells.map((number, place) => ({ ...BASIS, columnId: `c${place}`, cells: number }));
  const sum = cells.reduce((one, other) => one + other, 0);
  return { cells: sum, inputTokens: 0, outputTokens: 0, usd: { low: 0.9, likely: 1.2, high: 1.6 }, seconds: 180, basis };
}

test('a run is counted by one dry run', async () => {
  const asked: TriggerBody[] = [];
  const measured = await estimateRun({ columnIds: ['c0', 'c1'] }, ['c0', 'c1'], (body) => {
    asked.push(body);
    return Promise.resolve({ triggeredCount: 30, estimate: answer([30, 20]) });
  });
  expect([measured.cells, measured.isAtMost, measured.byColumn.get('c1'), asked.length]).toEqual([50, false, 20, 1]);
  expect((await estimateRun({}, [], () => Promise.reject(new Error('nobody asks')))).cells).toBe(0);
});

test('where there is no estimate, the most there can be is said', async () => {
  const many = Array.from({ length: 60 }, (_, index) => `c${index}`);
  const measured = await estimateRun({}, many, () => Promise.resolve({ triggeredCount: 10 }));
  expect([measured.cells, measured.isAtMost]).toEqual([600, true]);
});

test('an estimate is said in words', () => {
  expect(costFigure(answer([30]))).toEqual({ value: '$1.20', note: '$0.90 to $1.60' });
  expect(timeFigure(answer([30])).value).toBe('3 min');
  expect(basisText(answer([30]))).toContain('last cells');
  const unknown = { ...answer([30]), usd: null, basis: [{ ...BASIS, columnId: 'c0', cells: 30, from: 'unknown' as const }] };
  expect(costFigure(unknown)).toEqual({ value: 'Unknown', note: 'no price is known' });
  expect(costFigure({ ...unknown, credits: 30 })).toEqual({ value: '30 credits', note: 'no price is known' });
  expect(basisText(unknown)).toContain('“A”');
  const lacking = { ...unknown, basis: unknown.basis.map((basis) => ({ ...basis, missingCredential: 'No model is configured.' })) };
  expect(costFigure(lacking).note).toBe('a credential is missing');
  expect(basisText(lacking)).toBe('“A” lacks a credential: No model is configured.');
  const disabled = { ...unknown, basis: unknown.basis.map((basis) => ({ ...basis, disabled: 'All providers are disabled.' })) };
  expect(costFigure(disabled)).toEqual({ value: 'Unknown', note: 'a column is disabled' });
  expect(basisText(disabled)).toBe('“A” is disabled, and its cells would fail: All providers are disabled.');
  const free = { ...answer([30]), basis: [{ ...BASIS, columnId: 'c0', cells: 30, from: 'free' as const }] };
  expect(costFigure(free).value).toBe('Free');
});

test('what goes through batches is said', () => {
  const batch = { cells: 30, savedUsd: 1.2, secondsMax: 86_400 };
  expect(batchText({ ...answer([30]), batch })).toBe('30 cells in batches: results within 24 hours. Saves about $1.20.');
  expect(batchText({ ...answer([30]), batch: { ...batch, savedUsd: null } })).toBe('30 cells in batches: results within 24 hours, at half the price.');
  expect(timeFigure({ ...answer([30]), batch })).toEqual({ value: '≤ 24 h', note: 'in batches' });
  expect(batchText(answer([30]))).toBe('');
});

test('what a run leaves out is said', () => {
  expect(notRunText({ ...answer([30]), notRun: { done: 1200, manual: 3, pending: 0 } })).toBe('1,200 done already, 3 edited manually');
  expect(notRunText(answer([30]))).toBe('');
});

test('what people wrote can be left out of a run of one column', () => {
  const left = { conjunction: 'not', filters: [{ columnId: 'a', operator: 'isManual' }] };
  expect(withoutManualValues({ force: true, columnIds: ['a'] })).toEqual({ force: true, columnIds: ['a'], filters: [left] });
  const before = { columnId: 'b', operator: 'isEmpty' as const };
  expect(withoutManualValues({ columnIds: ['a'], filters: [before] })?.filters).toEqual([before, left]);
  expect(withoutManualValues({ columnIds: ['a', 'b'] })).toBeUndefined();
  expect(withoutManualValues({ force: true })).toBeUndefined();
});

test('the page says the same of disabled columns as the server', () => {
  const told = /ALL_DISABLED: &str = "([^"]+)"/.exec(LOOKUP)?.[1]?.replace(/\\\n\s*/g, '');
  expect(told).toBe(ALL_DISABLED);
});
