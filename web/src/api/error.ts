import { fieldMessage, fieldOf, type FieldProblem, problemSentence, withoutLimitNames } from './fieldMessages';

/** A request the service refused, or one that never reached it (`status` 0). */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string | undefined,
    readonly details: readonly FieldProblem[],
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

/** The message to show for anything that was thrown. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  if (error.status === 401) return 'You are signed out. Sign in, then try again.';
  if (error.details.length === 0) return withoutLimitNames(error.message);
  const told = [...new Set(error.details.map(problemSentence))];
  return told.length > 3 ? `${told.slice(0, 3).join(' ')} And ${told.length - 3} more.` : told.join(' ');
}

/** Whether the service answered 404. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** Whether nothing was written because somebody else changed it meanwhile (`If-Match`). */
export function isChangedMeanwhile(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'changed_meanwhile';
}

/** Whether the service answered 404 or 403, and did not fail itself. */
export function isGoneOrForbidden(error: unknown): boolean {
  return isNotFound(error) || (error instanceof ApiError && error.status === 403);
}

/** Whether a retry may work: the service was unreachable, busy (429) or failed (5xx). */
export function isRetryable(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500);
}

/** Validation errors of a form, by the field names of the API. */
export function fieldErrors(error: unknown): Record<string, string> {
  if (!(error instanceof ApiError)) return {};
  return Object.fromEntries(error.details.map((offence) => [fieldOf(offence), fieldMessage(offence)]));
}

export function toApiError(status: number, body: unknown): ApiError {
  const { error, code, details } = (typeof body === 'object' && body !== null ? body : {}) as Partial<{
    error: string;
    code: string;
    details: FieldProblem[];
  }>;
  return new ApiError(error ?? fallback(status), status, code, details ?? []);
}

export function unreachable(): ApiError {
  return new ApiError('Cannot reach the server. Check your connection and that the server is running.', 0, undefined, []);
}

function fallback(status: number): string {
  if (status === 413) return 'The request is too large. Send less at a time.';
  if (status === 429) return 'Too many requests. Wait a moment and try again.';
  return `The server answered with status ${status}. Try again; if it keeps failing, check the server log.`;
}
