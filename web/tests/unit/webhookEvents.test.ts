import { expect, test } from 'vitest';
import type { Webhook } from '../../src/api/types';
import { WEBHOOK_EVENTS, webhookNotice } from '../../src/settings/webhookEvents';

const WEBHOOK: Webhook = {
  id: 'hook_1',
  url: 'https://example.com',
  description: '',
  events: ['row.created'],
  projectIds: null,
  columnIds: null,
  enabled: true,
  failingSince: null,
  droppingSince: null,
  oldSecretUntil: null,
  problems: [],
  createdAt: '2026-11-15T09:30:00.000Z',
};
const AT = '2026-11-15T10:00:00.000Z';

test.each<[Partial<Webhook>, string | undefined]>([
  [{}, undefined],
  [{ failingSince: AT }, 'The last deliveries failed.'],
  [{ failingSince: AT, droppingSince: AT }, 'Too many events wait'],
  [{ problems: ['columnIds names a column that was deleted.'] }, 'columnIds names a column'],
  [{ enabled: false, disabled: { at: AT, reason: 'gone' } }, '410 Gone'],
  [{ enabled: false, disabled: { at: AT, reason: 'failing' }, failingSince: AT }, 'for 5 days'],
  [{ enabled: false, disabled: { at: AT, reason: 'team' } }, 'Disabled by your team.'],
])('%o', (change, expected) => {
  const notice = webhookNotice({ ...WEBHOOK, ...change });
  if (expected) expect(notice).toContain(expected);
  else expect(notice).toBeUndefined();
});

test('every event is named once', () => {
  const types = WEBHOOK_EVENTS.map(({ type }) => type);
  expect(new Set(types).size).toBe(types.length);
});
