/** One provider call in a cell's metadata. */
export interface TriedEntry {
  id?: string;
  taskType?: string;
  outcome?: string;
  milliseconds?: number;
  cost?: number;
  credits?: number;
}

const OUTCOMES: Record<string, [string, string]> = {
  verified: ['found', 'mill'],
  unverified: ['found, not verified', 'yellow'],
  found: ['found', 'mill'],
  valid: ['valid', 'mill'],
  invalid: ['invalid', 'red'],
  risky: ['risky', 'yellow'],
  unknown: ['cannot tell', 'gray'],
  not_found: ['not found', 'gray'],
  not_asked: ['not asked', 'gray'],
  missing_credentials: ['no key', 'gray'],
  invalid_credentials: ['key refused', 'red'],
  out_of_credits: ['no credit left', 'red'],
  rate_limited: ['too many requests', 'orange'],
  timed_out: ['no answer in time', 'red'],
  invalid_input: ['invalid input', 'red'],
};

/** The outcome of a call in words, and its colour. */
export function outcomeOf({ outcome = '' }: TriedEntry): [string, string] {
  return OUTCOMES[outcome] ?? ['failed', 'red'];
}
