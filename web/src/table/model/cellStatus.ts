import type { Cell, ErrorCode, Json } from '../../api/types';
import { formatDuration } from '../../ui/format';

/** What a person can do about an error, by its code. */
const ADVICE: Record<ErrorCode, string> = {
  missing_input: 'Fill in the column it needs in this row, then run it again.',
  invalid_input: 'Correct what this cell was given, then run it again.',
  condition_not_met: 'Nothing to do: the column’s condition leaves this row out.',
  dependency_error: 'Mend the cell it depends on first, then run it again.',
  missing_credentials: 'Add what is missing under Settings (a provider’s key under Providers, a secret under Secrets), then run the failed cells again.',
  invalid_credentials: 'The provider refused the key. Replace it under Settings, Providers, or check the request’s headers.',
  out_of_credits: 'The provider’s account has no credit left. Top it up, then run the failed cells again.',
  rate_limited: 'The provider asked for a slower pace. Set a rate limit in the column, then run the failed cells again.',
  timed_out: 'No answer came in time. Run it again, or allow more time in the column.',
  provider_error: 'The other side failed. Run it again later, or test the request in the column’s panel.',
  blocked: 'The address lies in a private network. Whoever runs the server can open it with --allow-private.',
  invalid_output: 'The answer was not in the shape asked for. Make the prompt or the schema clearer.',
  too_large: 'The answer is larger than a cell holds. Ask for less, or keep a part of it with a response path.',
  stopped: 'It was stopped. Run it again when you like.',
};

export function errorAdvice(code: ErrorCode): string {
  return ADVICE[code];
}

/** What went wrong in a line as short as a cell: a status comes first, and who answered is left to the hover. */
export function shortMessage(message: string): string {
  return message.replace(/^[^:]{1,60}? answered (\d{3})(: |\.$)/, (_, status: string, end: string) => (end === ': ' ? `${status}: ` : `Status ${status}`));
}

/** A cell's state in words: what a hover, a screen reader and the panel say. */
export function describeCell(cell: Cell, now = Date.now()): string {
  if (cell.status === 'error') return cell.error ? `Failed: ${cell.error.message}` : 'Failed';
  if (cell.status === 'skipped') return cell.error ? `Skipped: ${cell.error.message}` : 'Skipped';
  if (cell.status === 'queued') return cell.retryAt ? retryText(cell, cell.retryAt, now) : 'Queued';
  if (cell.status === 'generating') return 'Running';
  if (cell.manual) return 'Written by hand. Runs leave it alone unless forced.';
  if (cell.stale) return 'Out of date: something it was made from has changed since. Run it again.';
  if (isEmptyResult(cell)) return emptyReason(cell.meta);
  return cell.status === 'completed' ? 'Done' : 'Not run yet';
}

/** Whether a cell ended with nothing to show for it. */
export function isEmptyResult({ status, value, manual, outcome }: Pick<Cell, 'status' | 'value' | 'manual' | 'outcome'>): boolean {
  return outcome === 'no_data' || (status === 'completed' && value === null && !manual);
}

/** Why nothing was found, as far as the answer tells. */
export function emptyReason(meta: Record<string, Json> = {}): string {
  const { status } = meta;
  if (typeof status !== 'number') return 'Nothing was found.';
  if (isErrorStatus(meta)) return `The address answered ${status}, which counts as nothing found.`;
  return `The address answered ${status}, but there was nothing in the answer to keep.`;
}

/** Whether “nothing found” stands for an answer that others would call an error: the address may be mistyped. */
export function isErrorStatus({ status }: Record<string, Json> = {}): boolean {
  return typeof status === 'number' && status >= 400;
}

/** What to look at where nothing was found. */
export const EMPTY_ADVICE = 'If you expected a value, check the address for a mistake. Which answers count as nothing found is set in the column.';

function retryText({ error }: Cell, retryAt: string, now: number): string {
  const seconds = Math.ceil((Date.parse(retryAt) - now) / 1000);
  const parts = [seconds > 0 && `in ${formatDuration(seconds)}`, error && `after: ${error.message}`].filter(Boolean);
  return parts.length > 0 ? `Waits to retry (${parts.join(', ')})` : 'Waits to retry';
}
