import { beforeEach, expect, test, vi } from 'vitest';

/** As a browser that is opened anew. */
async function opened() {
  vi.resetModules();
  return import('../../src/ui/firstSteps');
}

function storage() {
  const kept = new Map<string, string>();
  return { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value), kept };
}

let local = storage();
const noted = () => JSON.parse(local.kept.get('rowmill:firstSteps') ?? 'null') as unknown;

beforeEach(() => {
  local = storage();
  vi.stubGlobal('localStorage', local);
});

test('steps are ticked from the first sample on, once each, and stay so', async () => {
  const first = await opened();
  first.tickFirstStep('run');
  expect(noted()).toBeNull();
  first.startFirstSteps();
  first.tickFirstStep('run');
  first.tickFirstStep('run');
  expect(noted()).toEqual({ isStarted: true, isDismissed: false, done: ['run'] });
  const later = await opened();
  later.tickFirstStep('import');
  expect(noted()).toMatchObject({ done: ['run', 'import'] });
});

test('what was dismissed stays dismissed', async () => {
  const first = await opened();
  first.startFirstSteps();
  first.dismissFirstSteps();
  const later = await opened();
  later.startFirstSteps();
  expect(noted()).toMatchObject({ isDismissed: true });
});
