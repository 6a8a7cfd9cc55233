import { expect, test } from 'vitest';
import { verifyRows } from '../../src/table/editing/verifyRows';

/** One letter per row; a dot is a row that nobody has seen. */
function check(seen: string, found: string, isRight: boolean) {
  const ids = new Map(seen.split('').flatMap((id, place): [number, string][] => (id === '.' ? [] : [[place + 7, id]])));
  const verify = () => verifyRows([7, 7 + seen.length], found.split(''), { ids });
  if (isRight) expect(verify()).toEqual(found.split(''));
  else expect(verify).toThrow('Rows have moved');
}

test('rows that nobody has seen are those between the ones that were', () => {
  check('a..d', 'abcd', true);
  check('abcd', 'abcd', true);
  check('a', 'a', true);
});

test('rows that have moved since are not taken for others', () => {
  check('a..d', 'bcde', false);
  check('a..d', 'abc', false);
  check('a..d', 'abbd', false);
  check('ab.d', 'axcd', false);
  check('a...', 'abcd', false);
  check('....', 'abcd', false);
});
