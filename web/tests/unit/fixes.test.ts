import { expect, test } from 'vitest';
import { isWorthShowing } from '../../src/api/fixes';
import type { Column } from '../../src/api/types';
import { withHeaders } from '../../src/table/template/tokens';

const columns = [{ id: 'col_a', header: 'Name' }] as Column[];

test.each<[string, string]>([
  ['Added required dependency on "col_a", which the column refers to.', 'The column now waits for “Name”, because it uses it.'],
  ['Renamed header "Mail" to "Mail 2", because another column has it.', 'Another column is called “Mail” already, so this one is now “Mail 2”.'],
  ['Removed dependency on "col_a", which would close a circle.', 'The column cannot wait for “Name”, which waits for it already, so it was taken out.'],
  ['Removed dependency on unknown column "x".', 'The column cannot wait for the column “x”, which does not exist, so it was taken out.'],
  ['Removed dependency on deleted column "City" in column "Line".', '“Line” no longer waits for “City”, which was deleted.'],
  ['Rewrote reference "@{ nAME }" to "@{col_a}" in aiConfig.prompt.', 'In “Prompt”, “@{ nAME }” was joined to its column.'],
  ['Rewrote "Name" to "col_a" in referenceConfig.columnId.', 'In “Take a part of”, “Name” was joined to its column.'],
  ['Blanked reference to unknown column "x" in apiConfig.headers.', '“Headers” named the column “x”, which does not exist, so it was taken out.'],
  ['Blanked reference to deleted column "City" in aiConfig.prompt in column "Line".', '“City” was deleted, so it was taken out of “Prompt” in “Line”.'],
  ['Blanked reference to "col_a" in aiConfig.prompt, because it would close a circle.', '“Prompt” named “Name”, which waits for this column, so it was taken out.'],
  [
    'Blanked reference "secret.KEY" in aiConfig.prompt, because secrets are read in apiConfig only.',
    '“Prompt” named “secret.KEY”. Secrets work in HTTP columns only, so it was taken out.',
  ],
  ['Filled missing apiConfig.emptyOn from the template.', '“Statuses that mean ‘nothing found’” was missing, and is now as in a new column.'],
  ['Dropped aiConfig.outputSchema, which a column of template "ai-text" does not have.', '“Shape of the answer” does not belong to a column of this kind, and was left out.'],
  ['Dropped "company" from inputMapping, which has no such key.', '“company” is nothing to search by, and was left out.'],
  ['Disabled provider "a", because its taskType "nope" is not known.', '“a” was switched off, because this server does not know it.'],
  ['Set dataShape "x" back to "json".', '“Kind of value” was set to what fits a column of this kind.'],
  ['Corrected order 0 to 1.', 'The first place belongs to the input column, so this one stands next to it.'],
  ['Removed the filter on deleted column "City" from view "Old".', 'The view “Old” no longer filters by “City”, which was deleted.'],
  ['Removed the run condition on deleted column "City" in column "Line".', '“Line” runs without its condition on “City”, which was deleted.'],
  ['Something new was done to "col_a".', 'Something new was done to “Name”.'],
])('%s', (fix, words) => {
  expect(withHeaders(fix, columns)).toBe(words);
});

test('that a column waits for what it uses is no news', () => {
  expect(isWorthShowing('Added required dependency on "col_a", which the column refers to.')).toBe(false);
  expect(isWorthShowing('Removed dependency on "col_a", which would close a circle.')).toBe(true);
  expect(isWorthShowing('Renamed header "Mail" to "Mail 2", because another column has it.')).toBe(true);
});
