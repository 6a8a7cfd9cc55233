/** A source of a researched answer. */
export interface Source {
  url: string;
  title?: string;
  quote?: string;
  quoteFound?: boolean;
}

/** One step of a research in a cell's metadata. */
export interface ResearchStep {
  type: 'model' | 'search' | 'page';
  milliseconds?: number;
  cost?: number;
  listCost?: number;
  credits?: number;
  /** Whether the price of some of it is not known. */
  unpriced?: boolean;
  inputTokens?: number;
  outputTokens?: number;
  /** Calls that the model asked for. */
  calls?: number;
  /** Whether the model had to answer. */
  last?: boolean;
  query?: string;
  provider?: string;
  found?: { url: string; title?: string }[];
  url?: string;
  title?: string;
  characters?: number;
  error?: string;
  cached?: boolean;
}

/** What a step did, in words. */
export function stepTitle(step: ResearchStep): string {
  if (step.type === 'search') return `Searched for “${step.query ?? ''}”`;
  if (step.type === 'page') return `Read ${step.title || step.url || 'a page'}`;
  if (step.calls && !step.last) return step.calls === 1 ? 'Asked for a look-up' : `Asked for ${step.calls} look-ups`;
  return 'Answered';
}
