import { expect, test } from 'vitest';
import { isWorthShowing } from '../../src/api/fixes';
import type { Column } from '../../src/api/types';
import { withHeaders } from '../../src/table/template/tokens';

const columns = [{ id: 'col_a', header: 'Name' }] as Column[];

test.each<[string, string]>([
  ['Added required dependency on "col_a", which the column refers to.', 'The column now depends on “Name”, because it refers to it.'],
  ['Renamed header "Mail" to "Mail 2", because another column already uses it.', 'Another column is already called “Mail”, so this one was renamed to “Mail 2”.'],
  ['Removed dependency on "col_a", because it would create a cycle.', 'The column cannot depend on “Name”, which already depends on it, so it was removed.'],
  ['Removed dependency on unknown column "x".', 'The column cannot depend on the column “x”, which does not exist, so it was removed.'],
  ['Removed dependency on unknown column "Nmae" (did you mean "Name"?).', 'The column cannot depend on the column “Nmae”, which does not exist, so it was removed (did you mean “Name”?).'],
  [
    'Cleared reference to unknown column "Nmae" in aiConfig.prompt (did you mean "Name"?).',
    '“Prompt” referred to the column “Nmae”, which does not exist, so it was removed (did you mean “Name”?).',
  ],
  ['Removed dependency on deleted column "City" in column "Line".', '“Line” no longer depends on “City”, which was deleted.'],
  ['Rewrote reference "@{ nAME }" to "@{col_a}" in aiConfig.prompt.', 'In “Prompt”, “@{ nAME }” was linked to its column.'],
  ['Rewrote "Name" to "col_a" in referenceConfig.columnId.', 'In “Source column”, “Name” was linked to its column.'],
  ['Cleared reference to unknown column "x" in apiConfig.headers.', '“Headers” referred to the column “x”, which does not exist, so it was removed.'],
  ['Cleared reference to deleted column "City" in aiConfig.prompt in column "Line".', '“City” was deleted, so it was removed from “Prompt” in “Line”.'],
  ['Cleared reference to "col_a" in aiConfig.prompt, because it would create a cycle.', '“Prompt” referred to “Name”, which depends on this column, so it was removed.'],
  [
    'Cleared reference "secret.KEY" in aiConfig.prompt, because secrets can be used in apiConfig only.',
    '“Prompt” referred to “secret.KEY”. Secrets work only in HTTP columns, so it was removed.',
  ],
  ['Filled missing apiConfig.emptyOn from the template.', '“‘Nothing found’ statuses” was missing and was set to its default.'],
  ['Removed aiConfig.outputSchema, which columns of template "ai-text" do not have.', '“Output schema” does not apply to this column type and was ignored.'],
  ['Removed the unknown key "company" from inputMapping.', '“company” is not a search input and was ignored.'],
  ['Disabled provider "a", because its taskType "nope" is unknown.', '“a” was turned off because this server does not support it.'],
  ['Reset dataShape "x" to "json".', '“Data shape” was changed to fit this column type.'],
  ['Corrected order 0 to 1.', 'The input column always comes first, so this one was placed after it.'],
  ['Removed the filter on deleted column "City" from view "Old".', 'The view “Old” no longer filters by “City”, which was deleted.'],
  ['Removed the run condition on deleted column "City" in column "Line".', '“Line” no longer has its run condition on “City”, which was deleted.'],
  [
    'Removed the run condition on deleted column "City", so that all rows run, in column "Line".',
    '“Line” no longer has its run condition on “City”, which was deleted: all its rows run now.',
  ],
  ['Something new was done to "col_a".', 'Something new was done to “Name”.'],
])('%s', (fix, words) => {
  expect(withHeaders(fix, columns)).toBe(words);
});

test('that a column waits for what it uses is no news', () => {
  expect(isWorthShowing('Added required dependency on "col_a", which the column refers to.')).toBe(false);
  expect(isWorthShowing('Removed dependency on "col_a", because it would create a cycle.')).toBe(true);
  expect(isWorthShowing('Renamed header "Mail" to "Mail 2", because another column already uses it.')).toBe(true);
});
