import { expect, test } from 'vitest';

/** The app's style sheets by path, without the one that defines the tokens. */
const SHEETS = import.meta.glob<string>(['../../src/**/*.css', '!../../src/app/tokens.css'], {
  query: '?raw',
  import: 'default',
  eager: true,
});
const SPACE_MAX = 32;

/** Values that a design token stands for. A hair's breadth and the sizes of large things are free. */
function valuesOfItsOwn(path: string, sheet: string): string[] {
  return sheet.split('\n').flatMap((text, index) => {
    const declaration = /^\s*([a-z-]+):\s*(.*)$/.exec(text);
    if (!declaration) return [];
    const [, property = '', value = ''] = declaration;
    const isColour = /#[0-9a-f]{3,8}\b/i.test(value);
    const isType = /^font(-size)?$/.test(property) && /\d(px|rem)\b/.test(value);
    const isSpace =
      /^((row-|column-)?gap|(padding|margin)(-[a-z]+)*)$/.test(property) &&
      [...value.matchAll(/([\d.]+)px/g)].some(([, size]) => Number(size) > 1 && Number(size) <= SPACE_MAX);
    return isColour || isType || isSpace ? [`${path}:${index + 1}: ${text.trim()}`] : [];
  });
}

test.each([
  ['a colour', 'a {\n  color: #fff;\n}', ['a.css:2: color: #fff;']],
  ['a size of type', 'a {\n  font: 600 13px var(--x);\n}', ['a.css:2: font: 600 13px var(--x);']],
  ['a distance', 'a {\n  padding: 0 8px;\n}', ['a.css:2: padding: 0 8px;']],
  ['tokens and what is large', 'a {\n  gap: var(--space-8);\n  margin: 1px 78px;\n  border: 1px solid;\n}', []],
])('%s is seen', (_, sheet, expected) => {
  expect(valuesOfItsOwn('a.css', sheet)).toEqual(expected);
});

test('style sheets use the design tokens', () => {
  const found = Object.entries(SHEETS).flatMap(([path, sheet]) => valuesOfItsOwn(path, sheet));
  expect(found, 'use the tokens of src/app/tokens.css').toEqual([]);
});
