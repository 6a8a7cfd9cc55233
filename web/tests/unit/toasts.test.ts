import { beforeEach, expect, test, vi } from 'vitest';

const shown: string[] = [];
let made = 0;
vi.mock('@mantine/notifications', () => ({
  notifications: {
    show: ({ id = `n${++made}`, message }: { id?: string; message: string }) => {
      shown.push(`${id}:${message}`);
      return id;
    },
    hide: (id: string) => {
      const place = shown.findIndex((each) => each.startsWith(`${id}:`));
      if (place >= 0) shown.splice(place, 1);
    },
  },
}));

const { hideToast, showToast } = await import('../../src/ui/toasts');

beforeEach(() => {
  hideToast();
  shown.length = 0;
});

test('a new message replaces the one before', () => {
  showToast({ message: 'first' });
  showToast({ message: 'second' });
  expect(shown.map((each) => each.split(':')[1])).toEqual(['second']);
  hideToast();
  expect(shown).toEqual([]);
});

test('a message that must be closed by hand stays', () => {
  const id = showToast({ message: 'your text', autoClose: false });
  showToast({ message: 'next' });
  expect(shown).toHaveLength(2);
  hideToast();
  expect(shown.map((each) => each.split(':')[1])).toEqual(['your text']);
  hideToast(id);
  expect(shown).toEqual([]);
});

test('hiding an old message leaves the new one', () => {
  const old = showToast({ message: 'old' });
  showToast({ message: 'new' });
  hideToast(old);
  expect(shown.map((each) => each.split(':')[1])).toEqual(['new']);
});
