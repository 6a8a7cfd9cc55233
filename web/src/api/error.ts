/** A request the service refused, or one that never reached it (`status` 0). */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string | undefined,
    readonly details: readonly Offence[],
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

export interface Offence {
  path: string;
  message: string;
}

/** The sentence to show for anything that was thrown. */
export function sentence(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  // One offence is the message already.
  const details = error.details.filter((offence) => !error.message.includes(offence.message)).slice(0, 3);
  return [error.message, ...details.map(({ path, message }) => (path ? `${path}: ${message}` : message))].join(' · ');
}

export function toApiError(status: number, body: unknown): ApiError {
  const { error, code, details } = (typeof body === 'object' && body !== null ? body : {}) as Partial<{
    error: string;
    code: string;
    details: Offence[];
  }>;
  return new ApiError(error ?? fallback(status), status, code, details ?? []);
}

export function unreachable(): ApiError {
  return new ApiError('The service cannot be reached. Check that it runs and that you are online.', 0, undefined, []);
}

function fallback(status: number): string {
  if (status === 413) return 'That is more than the service takes at once. Send less at a time.';
  if (status === 429) return 'Too many requests at once. Wait a moment and try again.';
  return `The service answered with status ${status}. Try again, and look into its log if it stays so.`;
}
