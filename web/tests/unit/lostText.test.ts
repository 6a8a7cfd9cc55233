import { expect, test } from 'vitest';
import { ApiError, errorMessage } from '../../src/api/error';
import { withLostText, LostTextError } from '../../src/table/rows/lostText';
import type { RowApi } from '../../src/table/rows/rowApi';

const refused = (path: string, message: string) => new ApiError('invalid', 400, 'invalid_request', [{ path, message }]);
const cell = (value: string | null) => ({ rowId: 'row_a', columnId: 'col_a', value });
const failure = (error: ApiError, values: (string | null)[]) =>
  withLostText({ writeCells: () => Promise.reject(error) } as unknown as RowApi)
    .writeCells(values.map(cell))
    .catch((thrown: unknown) => thrown);

test('the text of a row that was deleted meanwhile is not lost', async () => {
  const lost = await failure(refused('cells[0].rowId', 'is not a row of this project'), ['typed']);
  expect(lost).toBeInstanceOf(LostTextError);
  expect((lost as LostTextError).text).toBe('typed');
  expect(errorMessage(lost)).toBe('This row was deleted in the meantime.');
});

test('other failures stay as they are, and so do those where nothing is lost', async () => {
  const gone = refused('cells[0].rowId', 'is not a row of this project');
  const other = refused('cells[0].value', 'is too long');
  expect(await failure(other, ['typed'])).toBe(other);
  expect(await failure(gone, [null])).toBe(gone);
  expect(await failure(gone, ['pasted', 'pasted too'])).toBe(gone);
});
