import { expect, test } from 'vitest';
import { foldersOf, isShown } from '../../src/projects/folders';

test('folders are those of the projects, by name', () => {
  const projects = ['Sales', null, 'Q10', 'Q9', 'Sales'].map((folderId) => ({ folderId }));
  expect(foldersOf(projects)).toEqual([
    { name: 'Q9', count: 1 },
    { name: 'Q10', count: 1 },
    { name: 'Sales', count: 2 },
  ]);
});

test.each<[string | null, string, string, boolean]>([
  [null, '', '', true],
  ['Sales', '', '', true],
  ['Sales', 'Sales', '', true],
  [null, 'Sales', '', false],
  ['Events', 'Sales', 'lea', true],
  ['Events', 'Sales', 'event', true],
  ['Events', '', 'other', false],
])('a project in %s is shown in “%s” for “%s”: %s', (folderId, folder, search, expected) => {
  expect(isShown({ title: 'Leads', folderId }, folder, search)).toBe(expected);
});
