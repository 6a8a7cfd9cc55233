import { expect, test } from 'vitest';
import type { Column } from '../../src/api/types';
import { toChange, toTry } from '../../src/table/columns/changeBody';
import { type ColumnDraft, newDraft } from '../../src/table/columns/draft';

function asking(headers: Record<string, string>): ColumnDraft {
  const draft = newDraft('http-api', 'Answer', []);
  return { ...draft, apiConfig: { ...draft.apiConfig!, url: 'https://a.example', headers } };
}

test('a header that was removed is cleared', () => {
  const stored = asking({ Accept: 'text/plain', 'X-Old': '1' });
  expect(toChange(asking({ Accept: 'text/html' }), stored).apiConfig?.headers).toEqual({ Accept: 'text/html', 'X-Old': null });
  expect(toChange(stored, stored).apiConfig?.headers).toEqual({ Accept: 'text/plain', 'X-Old': '1' });
});

test('a field that was removed from a schema is cleared', () => {
  const draft = newDraft('ai-json', 'Facts', []);
  const of = (properties: Record<string, unknown>): ColumnDraft => ({ ...draft, aiConfig: { prompt: 'x', outputSchema: { type: 'object', properties } } });
  const change = toChange(of({ city: { type: 'string' } }), of({ city: { type: 'string' }, zip: { type: 'string' } }));
  expect(change.aiConfig?.outputSchema).toEqual({ type: 'object', properties: { city: { type: 'string' }, zip: null } });
});

test('a column without what was removed is tried', () => {
  const { apiConfig, ...rest } = asking({ 'X-Old': '1' });
  const column = { ...rest, id: 'col_1', type: 'api', dataShape: 'json', order: 1, apiConfig, retry: { maxAttempts: 5 } } as unknown as Column;
  expect(toTry(asking({ 'X-Old': '2' }), column).columnId).toBe('col_1');
  const tried = toTry(asking({}), column);
  expect([tried.columnId, tried.column.apiConfig?.headers]).toEqual([undefined, {}]);
  expect(toTry(asking({}), undefined).columnId).toBeUndefined();
});
