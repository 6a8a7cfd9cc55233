import { expect, test } from 'vitest';
import { trimmed } from '../../src/settings/eventSettings';

test('spaces around what was copied are not kept, nor an empty secret', () => {
  expect(trimmed({ eventId: ' evt-1 ', eventName: 'Fair ', signingSecret: '\tkey\n', webhookEnabled: true })).toEqual({
    eventId: 'evt-1',
    eventName: 'Fair',
    signingSecret: 'key',
    webhookEnabled: true,
  });
  expect(trimmed({ eventId: 'evt-1', signingSecret: ' ', webhookEnabled: false })).toEqual({ eventId: 'evt-1', webhookEnabled: false });
});
