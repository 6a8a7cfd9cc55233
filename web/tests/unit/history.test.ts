import { expect, test } from 'vitest';
import type { Cell, Column } from '../../src/api/types';
import { STEPS, stepFrom } from '../../src/table/cell/cellSteps';
import { historyOf, otherFacts } from '../../src/table/cell/history';
import { nameOf } from '../../src/table/columns/rowName';

const names: Record<string, string> = { hunter: 'Hunter', apollo: 'Apollo', openai: 'OpenAI' };

/** Each entry as `kind title | details`. */
function told(cell: Partial<Cell>): string[] {
  return historyOf({ value: null, status: 'idle', ...cell }, (id) => names[id] ?? id).map(({ kind, title, details }) => `${kind} ${title} | ${details}`);
}

test.each<[Partial<Cell>, string[]]>([
  [{}, []],
  [{ status: 'queued' }, ['waiting Queued | ']],
  [{ status: 'generating' }, ['waiting Running | ']],
  [
    { status: 'completed', value: 'x', attempts: 2, meta: { provider: 'openai', model: 'small', milliseconds: 1200, cost: 0.002 } },
    ['done Done | OpenAI · small · 1.2 s · $0.002 · 2 attempts'],
  ],
  [{ status: 'completed', value: 'x', attempts: 1, meta: { cached: true } }, ['done Done | from cache · 1 attempt']],
  [{ status: 'completed', value: null, attempts: 1 }, ['step Nothing found | 1 attempt']],
  [{ status: 'error', attempts: 3, error: { code: 'timed_out', message: 'No answer.' } }, ['failed Failed | 3 attempts · No answer.']],
  [{ status: 'skipped', error: { code: 'condition_not_met', message: 'Not a customer.' } }, ['step Skipped | Not a customer.']],
  [{ status: 'completed', value: 'x', manual: true }, ['changed Edited manually | ']],
  [{ status: 'completed', value: 'x', stale: true }, ['done Done | ', 'changed Out of date | An input or the column has changed since.']],
  [
    {
      status: 'completed',
      value: 'a@b.co',
      meta: {
        provider: 'apollo',
        tried: [
          { id: 'hunter', outcome: 'not_found', milliseconds: 120 },
          { id: 'apollo', outcome: 'verified', milliseconds: 300, credits: 1 },
        ],
      },
    },
    ['step Hunter | not found · 120 ms', 'done Apollo | found · 300 ms · 1 credit', 'done Done | '],
  ],
])('%j is told as %j', (cell, expected) => {
  expect(told(cell)).toEqual(expected);
});

test('a cell that waits says until when and why', () => {
  const [entry] = told({ status: 'queued', retryAt: '2026-01-01T12:00:05.000Z', error: { code: 'rate_limited', message: 'Too many requests.' } });
  expect(entry).toMatch(/^waiting Next try at .* \| After: Too many requests\.$/);
});

test('facts that the history tells are not told twice', () => {
  expect(otherFacts({ provider: 'a', cost: 1, tried: [], source: 'https://a.example', confidence: 0.9 })).toEqual({ source: 'https://a.example', confidence: 0.9 });
});

const shownColumns = [{ id: 'a' }, { id: 'b' }] as Column[];
const store = { indexOf: (id: string) => (id === 'gone' ? undefined : Number(id)) } as never;

test.each<[string, string, keyof typeof STEPS, string | undefined]>([
  ['1', 'a', 'ArrowDown', '2 a'],
  ['2', 'a', 'ArrowDown', undefined],
  ['0', 'a', 'ArrowUp', undefined],
  ['1', 'b', 'ArrowUp', '0 b'],
  ['1', 'a', 'ArrowRight', '1 b'],
  ['1', 'b', 'ArrowRight', undefined],
  ['1', 'a', 'ArrowLeft', undefined],
  ['gone', 'a', 'ArrowDown', undefined],
  ['1', 'hidden', 'ArrowDown', undefined],
])('from row %s, column %s, %s leads to %s', (rowId, columnId, key, expected) => {
  const step = STEPS[key];
  const cell = step && stepFrom({ store, shownColumns, total: 3 }, rowId, columnId, step)?.cell;
  expect(cell && `${cell.rowIndex} ${cell.columnId}`).toBe(expected);
});

test('a tried row is named by its first typed value', () => {
  const columns = [{ id: 'x', type: 'ai' }, { id: 'i', type: 'manual' }, { id: 'n', type: 'manual' }] as const;
  const cell = (value: string | null): Cell => ({ value, status: 'idle' });
  expect(nameOf({ id: '1', cells: { x: cell('made'), i: cell(null), n: cell('https://www.acme.com/') } }, columns)).toBe('acme.com');
  expect(nameOf({ id: '1', cells: {} }, columns)).toBe('');
});
