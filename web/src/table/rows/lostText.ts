import { ApiError } from '../../api/error';
import { fieldOf } from '../../api/fieldMessages';
import type { Json } from '../../api/types';
import { toText } from '../model/values';
import type { RowApi } from './rowApi';

/** A cell was written after its row had been deleted. */
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

/** Only of one cell: what was pasted is still where it came from. */
function lostIn(error: unknown, values: readonly Json[]): unknown {
  const isGone = error instanceof ApiError && error.details.some((offence) => fieldOf(offence) === 'cells.rowId');
  const text = values.length === 1 ? toText(values[0]) : '';
  return isGone && text !== '' ? new LostTextError(error, text) : error;
}
