import { expect, test } from 'vitest';
import { shortMessage } from '../../src/table/model/cellStatus';

test('in a cell a status comes before who answered with it', () => {
  expect(shortMessage('The server responded with 429: slow down')).toBe('429: slow down');
  expect(shortMessage('The server responded with 500.')).toBe('Status 500');
  expect(shortMessage('The model returned no text (length).')).toBe('The model returned no text (length).');
  expect(shortMessage('The server responded with 402: {"error":{"code":7,"message":"No credit left"}}')).toBe('402: No credit left');
  expect(shortMessage('The server responded with 402: {"company":{"na')).toBe('Status 402');
  expect(shortMessage('No answer came within 30 s.')).toBe('No answer came within 30 s.');
});
