import { expect, test } from 'vitest';
import { type ImportJob, isOpen } from '../../src/api/importJob';
import { importEndText, importPercent, importProgressText } from '../../src/table/transfer/importText';

function job(more: Partial<ImportJob>): ImportJob {
  const counts = { rowsRead: 0, importedCount: 0, updatedCount: 0, unchangedCount: 0, rejectedCount: 0, skippedCount: 0 };
  return { id: 'imp_1', status: 'running', createdAt: '', startedAt: null, endedAt: null, fileBytes: 200, bytesRead: 50, ...counts, ...more };
}

test('an import that runs says how far it is', () => {
  expect(importPercent(job({}))).toBe(25);
  expect(importPercent(job({ fileBytes: 0, bytesRead: 0 }))).toBe(0);
  expect(importProgressText(job({ status: 'queued' }), undefined)).toBe('Waiting for its turn');
  expect(importProgressText(job({ rowsRead: 1 }), undefined)).toBe('1 row read');
  expect(importProgressText(job({ rowsRead: 12_000, rejectedCount: 2 }), 1_234.5)).toBe('12,000 rows read, 2 rejected · 1,235 rows/s');
});

test('an import that is over says how it ended', () => {
  expect(importEndText(job({ status: 'finished', importedCount: 5 }))).toBe('Import finished: 5 rows imported');
  expect(importEndText(job({ status: 'cancelled', importedCount: 1, rejectedCount: 3 }))).toBe('Import cancelled: 1 row imported, 3 rejected');
  const error = { code: 'invalid_request', error: 'the file is not UTF-8' };
  expect(importEndText(job({ status: 'failed', error }))).toBe('The import failed: the file is not UTF-8. 0 rows imported');
  expect(['queued', 'running', 'finished', 'failed', 'cancelled'].map((status) => isOpen(job({ status: status as ImportJob['status'] })))).toEqual([true, true, false, false, false]);
});
