import type { Cell, ErrorCode, Json } from '../../api/types';
import { formatDuration } from '../../ui/format';

/** What to do about an error, by error code. */
const ADVICE: Record<ErrorCode, string> = {
  missing_input: 'Fill in the column it needs in this row, then run it again.',
  invalid_input: 'Correct the input of this cell or the settings of its column, as the message says. Then run it again.',
  condition_not_met: 'Nothing to do: the run condition excludes this row.',
  dependency_error: 'Fix the cell it depends on, then run it again.',
  missing_credentials: 'Add the missing key under Settings, Providers, or the missing secret under Settings, Secrets. Then run the failed cells again.',
  invalid_credentials: 'The provider refused the key. Replace it under Settings, Providers, or check the request’s headers.',
  out_of_credits: 'The provider’s account has no credit left. Top it up, then run the failed cells again.',
  spend_limit: 'A spending cap is reached. It goes on when the cap is raised or its period ends (Settings, Spending).',
  rate_limited: 'The provider received too many requests. Set a rate limit in the column, then run the failed cells again.',
  timed_out: 'The request timed out. Run it again, or raise the timeout in the column.',
  provider_error: 'The provider failed. Run it again later, or try the request in the column panel.',
  blocked: 'The URL points to a private network. The server’s administrator can allow it with --allow-private.',
  invalid_output: 'The answer does not match the schema. Make the prompt or the schema clearer.',
  too_large: 'The answer is too large for a cell. Ask for less, or keep part of it with a response path.',
  needs_browser: 'The page shows its content only in a browser. Use another page of the site, its feed, or its API with an HTTP API column.',
  stopped: 'The run was stopped. Run the cell again when you are ready.',
};

export function errorAdvice(code: ErrorCode): string {
  return ADVICE[code];
}

/** An error message short enough for a cell: the status first, without the host, which the tooltip shows. */
export function shortMessage(message: string): string {
  const short = message.replace(/^[^:]{1,60}? responded with (\d{3})(: |\.$)/, (_, status: string, end: string) => (end === ': ' ? `${status}: ` : `Status ${status}`));
  return short.replace(/^(\d{3}): ?([[{].*)$/s, (_, status: string, body: string) => {
    const told = JSON_MESSAGE.exec(body)?.[1];
    return told ? `${status}: ${told}` : `Status ${status}`;
  });
}

/** What a server says in a JSON body, which may be cut. */
const JSON_MESSAGE = /"(?:message|detail|error|error_description|title|reason)"\s*:\s*"([^"\\]{1,200})/;

/** The status text of a cell, for tooltip, screen reader and panel. */
export function describeCell(cell: Cell, now = Date.now()): string {
  if (cell.status === 'error') return cell.error ? `Failed: ${cell.error.message}` : 'Failed';
  if (cell.status === 'skipped') return cell.error ? `Skipped: ${cell.error.message}` : 'Skipped';
  if (cell.status === 'queued') return cell.retryAt ? retryText(cell, cell.retryAt, now) : 'Queued';
  if (cell.status === 'generating') return 'Running';
  if (cell.manual) return 'Edited manually. Runs keep this value unless you rerun all cells.';
  if (cell.stale) return 'Out of date: an input or the column has changed. Run the cell again.';
  if (isEmptyResult(cell)) return emptyReason(cell.meta);
  return cell.status === 'completed' ? 'Done' : 'Not run yet';
}

/** Whether a cell is done but has no value. */
export function isEmptyResult({ status, value, manual, outcome }: Pick<Cell, 'status' | 'value' | 'manual' | 'outcome'>): boolean {
  return outcome === 'no_data' || (status === 'completed' && value === null && !manual);
}

/** Why nothing was found, as far as the metadata tells. */
export function emptyReason(meta: Record<string, Json> = {}): string {
  const { status } = meta;
  if (typeof status !== 'number') return 'Nothing was found.';
  if (isErrorStatus(meta)) return `The server answered ${status}, which counts as nothing found.`;
  return `The server answered ${status}, but the response has no value to keep.`;
}

/** Whether “nothing found” was an HTTP error status: the URL may be mistyped. */
export function isErrorStatus({ status }: Record<string, Json> = {}): boolean {
  return typeof status === 'number' && status >= 400;
}

/** Advice if nothing was found. */
export const EMPTY_ADVICE = 'If you expected a value, check the URL. The column settings define which statuses count as nothing found.';

function retryText({ error }: Cell, retryAt: string, now: number): string {
  const seconds = Math.ceil((Date.parse(retryAt) - now) / 1000);
  const parts = [seconds > 0 && `in ${formatDuration(seconds)}`, error && `after: ${error.message}`].filter(Boolean);
  return parts.length > 0 ? `Waiting to retry (${parts.join(', ')})` : 'Waiting to retry';
}
