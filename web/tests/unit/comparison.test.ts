import { expect, test } from 'vitest';
import type { Row } from '../../src/api/types';
import { cellText, compareBody, costText, sampleRows, scoreText, variantName } from '../../src/table/columns/comparison';
import { newDraft } from '../../src/table/columns/draft';

const form = { variants: [{ prompt: 'A?', provider: null, model: ' small ' }], rows: 3, expectedId: '', scoring: 'exact' as const, judgeModel: 'j' };

test('a form is sent as a comparison', () => {
  const draft = newDraft('ai-text', 'Line', []);
  const body = compareBody(draft, 'col_1', form, []);
  expect(body).toMatchObject({ columnId: 'col_1', rows: 3, variants: [{ name: 'Variant A', aiConfig: { prompt: 'A?', provider: null, model: 'small' } }] });
  expect(body).not.toHaveProperty('expected');
  const scored = compareBody(draft, undefined, { ...form, expectedId: 'col_2', scoring: 'judge' }, ['row_1']);
  expect(scored).toMatchObject({ rowIds: ['row_1'], expected: { columnId: 'col_2', scoring: 'judge', judgeModel: 'j' } });
  expect(scored).not.toHaveProperty('rows');
  expect(variantName(2)).toBe('Variant C');
});

test('rows without an expected answer are passed over', () => {
  const row = (id: string, value: string | null) => ({ id, cells: { a: { value } } }) as unknown as Row;
  const rows = [row('1', null), row('2', ''), row('3', 'Ulm'), row('4', 'Bath')];
  expect(sampleRows(rows, 'a', 1).map(({ id }) => id)).toEqual(['3']);
  expect(sampleRows(rows, '', 2).map(({ id }) => id)).toEqual(['1', '2']);
});

test('figures are told in words', () => {
  expect(scoreText({ score: 0.8, scored: 5 })).toBe('80 % of 5 rows');
  expect(scoreText({ score: 1, scored: 1 })).toBe('100 % of 1 row');
  expect(scoreText({ scored: 0 })).toBe('Not scored');
  expect(costText({ usdPer1000Rows: 1.5 })).toBe('$1.50');
  expect(costText({})).toBe('Unknown');
  expect(cellText({ status: 'completed', tried: true, value: null })).toBe('Nothing found');
  expect(cellText({ status: 'error', tried: false, error: { code: 'spend_limit', message: 'No money.' } })).toContain('No money');
});
