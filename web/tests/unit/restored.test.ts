import { expect, test } from 'vitest';
import { restoredMessage } from '../../src/ui/restoredMessage';

const NOTHING = { success: true as const, restoredRows: 0, restoredColumns: 0, restoredViews: 0, notRestored: [], appliedFixes: [] };

test('what was restored is said, and what stays in the trash and why', () => {
  expect(restoredMessage(NOTHING)).toBe('Nothing was restored.');
  expect(restoredMessage({ ...NOTHING, restoredRows: 1_200, restoredViews: 1 })).toBe('Restored 1,200 rows, 1 view.');
  const notRestored = [{ rowId: 'row_1', reason: '' }];
  expect(restoredMessage({ ...NOTHING, restoredRows: 1, notRestored })).toMatch(/^Restored 1 row\. 1 row stayed in the trash/);
});
