import { expect, test } from 'vitest';
import { briefly } from '../../src/table/model/cellStatus';

test('in a cell a status comes before who answered with it', () => {
  expect(briefly('The server answered 429: slow down')).toBe('429: slow down');
  expect(briefly('The server answered 500.')).toBe('Status 500');
  expect(briefly('The model answered without text (length).')).toBe('The model answered without text (length).');
  expect(briefly('No answer came within 30 s.')).toBe('No answer came within 30 s.');
});
