import { ApiError } from '../../api/error';
import { fieldOf } from '../../api/fieldMessages';
import type { Json } from '../../api/types';
import { toText } from '../model/values';
import type { RowApi } from './rowApi';

/** The row was deleted before the cell was written. `text` is what was typed. */
export class LostTextError extends ApiError {
  constructor(
    cause: ApiError,
    readonly text: string,
  ) {
    super(cause.message, cause.status, cause.code, cause.details);
  }
}

/** Adds the typed text to the error when its row was deleted, so that it is not lost. */
export function withLostText(wire: RowApi): RowApi {
  return {
    ...wire,
    writeCells: (cells, onSent) =>
      wire.writeCells(cells, onSent).catch((error: unknown) => {
        throw lostIn(error, cells.map(({ value }) => value));
      }),
  };
}

/** Only for a single cell: pasted text still exists where it was copied. */
function lostIn(error: unknown, values: readonly Json[]): unknown {
  const isGone = error instanceof ApiError && error.details.some((offence) => fieldOf(offence) === 'cells.rowId');
  const text = values.length === 1 ? toText(values[0]) : '';
  return isGone && text !== '' ? new LostTextError(error, text) : error;
}
