import type { ErrorCode } from '../../api/types';

const CAUSES: Record<ErrorCode, string> = {
  missing_input: 'Input missing',
  invalid_input: 'Input not valid',
  condition_not_met: 'Run condition not met',
  dependency_error: 'A cell it depends on failed',
  missing_credentials: 'No key',
  invalid_credentials: 'Key refused',
  out_of_credits: 'No credit left',
  rate_limited: 'Too many requests',
  timed_out: 'No answer in time',
  provider_error: 'Provider failed',
  blocked: 'Address blocked',
  invalid_output: 'Answer does not match the schema',
  too_large: 'Answer too large',
  stopped: 'Stopped',
  spend_limit: 'Spending cap reached',
  needs_browser: 'Page needs a browser',
};

/** Why cells ended without a value, in a few words. */
export function causeText(code: ErrorCode): string {
  return CAUSES[code];
}

/** Causes that every other cell of the run will have, too, until somebody changes the key. */
const CREDENTIALS: readonly ErrorCode[] = ['missing_credentials', 'invalid_credentials', 'out_of_credits'];

export function isAboutCredentials(code: ErrorCode): boolean {
  return CREDENTIALS.includes(code);
}
