import { expect, test } from 'vitest';

const MANTINE = '/node_modules/@mantine/core';
const SOURCES = import.meta.glob<string>('../../src/**/*.{ts,tsx}', { query: '?raw', import: 'default', eager: true });
const COMPONENTS = import.meta.glob<string>('/node_modules/@mantine/core/esm/components/**/*.mjs', { query: '?raw', import: 'default' });
const STYLES = import.meta.glob<string>(['/node_modules/@mantine/core/styles.css', '/node_modules/@mantine/core/styles/*.css'], {
  query: '?raw',
  import: 'default',
});

/** Components that the page imports, and those that the notifications use. */
function usedComponents(): string[] {
  const imports = Object.values(SOURCES).flatMap((text) => [...text.matchAll(/import \{([^}]*)\} from '@mantine\/core'/g)]);
  const names = imports.flatMap(([, list = '']) => list.split(',').map((name) => name.trim().split(' as ')[0] ?? ''));
  return [...new Set([...names, 'Notification', 'Transition', 'Portal'])];
}

/** Adds the CSS classes of a component and of everything it imports. */
async function addClasses(file: string, seen: Set<string>, found: Set<string>): Promise<void> {
  if (seen.has(file)) return;
  seen.add(file);
  const text = (await COMPONENTS[file]?.()) ?? '';
  if (file.endsWith('.module.mjs')) for (const name of text.match(/\bm_[0-9a-f]+/g) ?? []) found.add(name);
  await Promise.all([...text.matchAll(/from "(\.[^"]+)"/g)].map(([, path = '']) => addClasses(new URL(path, `file://${file}`).pathname, seen, found)));
}

test('every component of Mantine that the page uses has its styles', async () => {
  const found = new Set<string>();
  const seen = new Set<string>();
  for (const name of usedComponents()) await addClasses(`${MANTINE}/esm/components/${name}/${name}.mjs`, seen, found);
  expect(found.size).toBeGreaterThan(100);
  const list = SOURCES['../../src/app/mantineStyles.ts'] ?? '';
  const files = [...list.matchAll(/'@mantine\/core\/(styles\/[\w-]+\.css)'/g)].map(([, path = '']) => `${MANTINE}/${path}`);
  const css = (await Promise.all(files.map((file) => STYLES[file]?.()))).join('');
  const all = (await STYLES[`${MANTINE}/styles.css`]?.()) ?? '';
  expect(all).toContain('.m_');
  // Some classes are only names: Mantine itself has no rule for them.
  expect([...found].filter((name) => all.includes(name) && !css.includes(name))).toEqual([]);
}, 30_000);
