import { expect, test } from 'vitest';
import type { InboundDelivery, Project } from '../../src/api/types';
import { hookExample, outcomeText, readableBody, writableColumns } from '../../src/settings/inbound';

const OUTCOME: InboundDelivery['outcomes'][number] = {
  at: '2026-11-15T09:30:00.000Z',
  replay: false,
  status: 'processed',
  rowsCreated: 0,
  rowsUpdated: 0,
  rowsUnchanged: 0,
  ignoredKeys: [],
  reason: null,
};

test.each<[Partial<typeof OUTCOME>, string]>([
  [{ rowsCreated: 1 }, '1 row added'],
  [{ rowsCreated: 2, rowsUpdated: 1 }, '2 rows added. 1 row updated'],
  [{ rowsCreated: 1, ignoredKeys: ['a', 'b'] }, '1 row added. ignored: a, b'],
  [{ reason: 'The hook is disabled.' }, 'The hook is disabled.'],
])('%o', (change, expected) => {
  expect(outcomeText({ ...OUTCOME, ...change })).toBe(expected);
});

const PROJECT = {
  columns: [
    { id: '_trigger', header: 'Input', type: 'manual', trigger: true },
    { id: 'col_1', header: "Ada's e-mail", type: 'manual' },
    { id: 'col_2', header: 'City', type: 'reference' },
  ],
} as unknown as Project;

test('an example can be pasted into a shell', () => {
  expect(hookExample(PROJECT, 'https://x.test/hooks/a/b')).toContain(`-d '{"Ada'\\''s e-mail":"Ada"}'`);
  expect(hookExample({ ...PROJECT, columns: [] }, 'https://x.test')).toContain('{"Name":"Ada"}');
});

test('references are not written to', () => {
  expect(writableColumns(PROJECT).map(({ value }) => value)).toEqual(['_trigger', 'col_1']);
});

test('a body is shown as it came unless it is JSON', () => {
  const body = (part: Partial<InboundDelivery>) => readableBody(part as InboundDelivery);
  expect(body({ body: '{"a":1}' })).toBe('{\n  "a": 1\n}');
  expect(body({ body: 'a=1&b=2' })).toBe('a=1&b=2');
  expect(body({ bodyBase64: '//4=' })).toBe('//4=');
});
