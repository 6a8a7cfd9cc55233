import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const MANTINE = join(import.meta.dirname, '../../node_modules/@mantine/core');
const SOURCES = import.meta.glob<string>('../../src/**/*.{ts,tsx}', { query: '?raw', import: 'default', eager: true });

/** Components that the page imports, and those that the notifications use. */
function usedComponents(): string[] {
  const imports = Object.values(SOURCES).flatMap((text) => [...text.matchAll(/import \{([^}]*)\} from '@mantine\/core'/g)]);
  const names = imports.flatMap(([, list = '']) => list.split(',').map((name) => name.trim().split(' as ')[0] ?? ''));
  return [...new Set([...names, 'Notification', 'Transition', 'Portal'])];
}

/** CSS classes of a component and of everything it imports. */
function classesOf(file: string, seen: Set<string>, found: Set<string>): void {
  if (seen.has(file) || !existsSync(file)) return;
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  if (file.endsWith('.module.mjs')) for (const name of text.match(/\bm_[0-9a-f]+/g) ?? []) found.add(name);
  for (const [, path = ''] of text.matchAll(/from "(\.[^"]+)"/g)) classesOf(join(dirname(file), path), seen, found);
}

test('every component of Mantine that the page uses has its styles', () => {
  const found = new Set<string>();
  const seen = new Set<string>();
  for (const name of usedComponents()) classesOf(join(MANTINE, `esm/components/${name}/${name}.mjs`), seen, found);
  expect(found.size).toBeGreaterThan(100);
  const list = SOURCES['../../src/app/mantineStyles.ts'] ?? '';
  const css = [...list.matchAll(/'@mantine\/core\/(styles\/[\w-]+\.css)'/g)].map(([, path = '']) => readFileSync(join(MANTINE, path), 'utf8')).join('');
  const all = readFileSync(join(MANTINE, 'styles.css'), 'utf8');
  // Some classes are only names: Mantine itself has no rule for them.
  expect([...found].filter((name) => all.includes(name) && !css.includes(name))).toEqual([]);
});
