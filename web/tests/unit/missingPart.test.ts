import { expect, test } from 'vitest';
import type { Json } from '../../src/api/types';
import { missingPart, readPath } from '../../src/table/cell/missingPart';

const SOURCE: Json = { company: { name: 'Mill', domain: null }, people: [{ name: 'Ada' }], none: [] };

test.each<[string, (string | number)[] | undefined]>([
  ['company.name', ['company', 'name']],
  ['people[0].name', ['people', 0, 'name']],
  ['$.company["full name"]', ['company', 'full name']],
  ["$['it\\'s'][2]", ["it's", 2]],
  ['$', []],
  ['$..name', undefined],
  ['$.people[*].name', undefined],
  ['$.people[?(@.a)]', undefined],
])('%s is read as %j', (path, segments) => {
  expect(readPath(path)).toEqual(segments);
});

test.each<[Json, string, string | undefined]>([
  [SOURCE, 'company.name', undefined],
  [SOURCE, '$.people[*].name', undefined],
  [SOURCE, '', undefined],
  [SOURCE, 'company.nme', 'Nothing found at company.nme: company has name, domain.'],
  [SOURCE, 'firm', 'Nothing found at firm: the source cell has company, people, none.'],
  [SOURCE, 'people[3].name', 'Nothing found at people[3].name: people is a list of 1, counted from 0.'],
  [SOURCE, 'none[0]', 'Nothing found at none[0]: none is an empty list.'],
  [SOURCE, 'company.domain', 'The value at company.domain is empty in this row.'],
  [SOURCE, 'company.name.first', 'Nothing found at company.name.first: company.name is plain text, which has no parts.'],
  ['words', 'name', 'Nothing found at name: the source cell is plain text, which has no parts.'],
  [null, 'name', 'The source cell of this row is empty. Run that column first, or choose another row.'],
])('%j at %s: %s', (source, path, words) => {
  expect(missingPart(source, path)).toBe(words);
});
