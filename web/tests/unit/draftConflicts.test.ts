import { expect, test } from 'vitest';
import type { Column } from '../../src/api/types';
import { type ColumnDraft, hasChanges, newDraft } from '../../src/table/columns/draft';
import { findDraftConflicts, conflictText, type Edits, keepTheirs, merged, NO_EDITS, keepMine, withChange } from '../../src/table/columns/draftConflicts';

const opened: ColumnDraft = { ...newDraft('ai-text', 'Line', []), aiConfig: { prompt: 'Hi', model: 'small' } };
const prompted = (prompt: string, model = 'small'): ColumnDraft => ({ ...opened, aiConfig: { prompt, model } });
const asking = (prompt: string): Edits => withChange(NO_EDITS, { aiConfig: { ...opened.aiConfig, prompt } }, opened);

test('what nobody else touched is saved without a question', () => {
  expect(findDraftConflicts(asking('Hello'), opened)).toEqual([]);
  expect(merged(asking('Hello'), opened)).toEqual({ aiConfig: { prompt: 'Hello', model: 'small' } });
});

test('fields that only somebody else changed stay theirs', () => {
  const stored = { ...prompted('Hi', 'large'), header: 'Opening' };
  expect(findDraftConflicts(asking('Hello'), stored)).toEqual([]);
  expect(merged(asking('Hello'), stored)).toEqual({ aiConfig: { prompt: 'Hello', model: 'large' } });
});

test('a field that two people changed is asked about, unless they agree', () => {
  expect(findDraftConflicts(asking('Hello'), prompted('Hey'))).toEqual([{ part: 'aiConfig', field: 'prompt', theirs: 'Hey' }]);
  expect(findDraftConflicts(asking('Hey'), prompted('Hey'))).toEqual([]);
  const renamed = withChange(NO_EDITS, { header: 'Mine' }, opened);
  expect(findDraftConflicts(renamed, { ...opened, header: 'Theirs' })).toEqual([{ part: 'header', theirs: 'Theirs' }]);
});

test('what was typed and taken back is no change, whatever others do', () => {
  const stored = prompted('Hey');
  expect(findDraftConflicts(asking('Hi'), stored)).toEqual([]);
  expect(hasChanges(stored, merged(asking('Hi'), stored))).toBe(false);
});

test('what one sees of others while typing on is not taken for one’s own', () => {
  const large = prompted('Hi', 'large');
  const seen = { ...large.aiConfig, prompt: 'Hello there' };
  const typedOn = withChange(asking('Hello'), { aiConfig: seen }, large);
  expect(findDraftConflicts(typedOn, prompted('Hi', 'huge'))).toEqual([]);
  expect(merged(typedOn, prompted('Hi', 'huge'))).toEqual({ aiConfig: { prompt: 'Hello there', model: 'huge' } });
});

test('the answer is theirs or ours, and the rest of ours in either case', () => {
  const stored = prompted('Hey');
  const both = withChange(asking('Hello'), { header: 'Mine' }, opened);
  expect(merged(keepTheirs(both, stored), stored)).toEqual({ header: 'Mine', aiConfig: stored.aiConfig });
  expect(merged(keepMine(both, stored), stored)).toEqual({ header: 'Mine', aiConfig: { prompt: 'Hello', model: 'small' } });
  expect(findDraftConflicts(keepMine(both, stored), stored)).toEqual([]);
  expect(findDraftConflicts(keepMine(both, stored), prompted('Hola'))).toHaveLength(1);
  expect(hasChanges(stored, merged(keepTheirs(asking('Hello'), stored), stored))).toBe(false);
});

test('a question names the field as the page does', () => {
  const columns = [{ id: 'col_a', header: 'Name' }] as Column[];
  expect(conflictText({ part: 'aiConfig', field: 'prompt', theirs: 'Hi @{col_a}' }, columns)).toBe('“Prompt” was changed in the meantime: “Hi @Name”');
  expect(conflictText({ part: 'referenceConfig', field: 'columnId', theirs: 'col_a' }, columns)).toBe('“Source column” was changed in the meantime: “Name”');
  expect(conflictText({ part: 'aiConfig', field: 'prompt', theirs: '' }, columns)).toBe('“Prompt” was changed in the meantime.');
  expect(conflictText({ part: 'waterfall', field: 'providers', theirs: [] }, columns)).toBe('“Providers” was changed in the meantime.');
  expect(conflictText({ part: 'maxAttempts', theirs: 3 }, columns)).toBe('“Maximum attempts” was changed in the meantime: “3”');
});
