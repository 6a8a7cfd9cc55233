import { expect, test } from 'vitest';
import type { ProjectItem } from '../../src/api/types';
import { inOrder, withOpened, withStar } from '../../src/projects/projectOrder';

const projects = ['a', 'b', 'c', 'd'].map((id) => ({ id }) as ProjectItem);
const ids = (marks: Parameters<typeof inOrder>[1]) => inOrder(projects, marks).map(({ id }) => id).join('');

test('starred projects come first, then those opened lately', () => {
  expect(ids({ starred: [], opened: [] })).toBe('abcd');
  expect(ids({ starred: ['c'], opened: ['d', 'gone', 'b'] })).toBe('cdba');
  expect(ids({ starred: ['a', 'd'], opened: ['d'] })).toBe('dabc');
});

test('a project is remembered once', () => {
  expect(withOpened(['a', 'b'], 'b')).toEqual(['b', 'a']);
  expect(withOpened(Array.from({ length: 60 }, (_, number) => `${number}`), 'x')).toHaveLength(50);
  expect(withStar(withStar([], 'a'), 'a')).toEqual([]);
});
