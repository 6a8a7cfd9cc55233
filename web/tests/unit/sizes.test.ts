import ts from 'typescript';
import { expect, test } from 'vitest';

const FUNCTION_LINES_MAX = 70;
const FILE_LINES_MAX = 450;

/** The page's sources by path. */
const SOURCES = import.meta.glob<string>(['../../src/**/*.{ts,tsx}'], {
  query: '?raw',
  import: 'default',
  eager: true,
});

/** Functions, components, hooks and callbacks that are too long, with the line they start in. */
function longFunctions(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1;
  const found: string[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const first = lineOf(node.getStart(source));
      const lines = lineOf(node.end) - first + 1;
      if (lines > FUNCTION_LINES_MAX) found.push(`${path}:${first} has ${lines} lines`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const body = (lines: number) => '  x;\n'.repeat(lines - 2);

test.each<[string, string, string[]]>([
  ['a function that fits', `function a() {\n${body(70)}}`, []],
  ['a function', `\nexport function a() {\n${body(71)}}`, ['a.tsx:2 has 71 lines']],
  ['an arrow function', `const A = (props) => {\n${body(71)}};`, ['a.tsx:1 has 71 lines']],
  ['a method', `class A {\n  a() {\n${body(71)}}}`, ['a.tsx:2 has 71 lines']],
  ['a callback', `a(\n  function () {\n${body(72)}});`, ['a.tsx:2 has 72 lines']],
])('%s is measured', (_, text, expected) => {
  expect(longFunctions('a.tsx', text)).toEqual(expected);
});

test('functions of the page fit on a screen', () => {
  expect(Object.keys(SOURCES).length).toBeGreaterThan(100);
  expect(Object.entries(SOURCES).flatMap(([path, text]) => longFunctions(path, text))).toEqual([]);
}, 30_000);

test('files of the page are short', () => {
  const long = Object.entries(SOURCES).filter(([, text]) => text.trimEnd().split('\n').length > FILE_LINES_MAX);
  expect(long.map(([path]) => path)).toEqual([]);
});
