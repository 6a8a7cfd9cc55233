import type { Column, Json } from '../../api/types';

/** A column that was chosen, and why. */
export interface Guess {
  columnId: string;
  by: 'header' | 'values';
}

interface Kind {
  /** Headers that mean it, in small letters and without signs. The first that fits wins. */
  headers: string[];
  /** What its values look like, if that can be told. */
  looks?: RegExp;
}

const KINDS: Kind[] = [
  { headers: ['first name', 'firstname', 'given name', 'forename', 'first', 'vorname'] },
  { headers: ['last name', 'lastname', 'surname', 'family name', 'last', 'nachname'] },
  { headers: ['full name', 'fullname', 'name', 'contact name', 'contact', 'person', 'lead name'] },
  {
    headers: ['website', 'company website', 'domain', 'company domain', 'website url', 'web site', 'homepage', 'url', 'site', 'web'],
    looks: /^(https?:\/\/)?(?!.*linkedin\.)([a-z0-9-]+\.)+[a-z]{2,}(\/\S*)?$/i,
  },
  { headers: ['company', 'company name', 'organization', 'organisation', 'account', 'account name', 'employer', 'firma'] },
  { headers: ['email', 'e mail', 'email address', 'e mail address', 'work email', 'mail'], looks: /^[^\s@]+@[^\s@]+\.[a-z]{2,}$/i },
  { headers: ['linkedin', 'linkedin url', 'linkedin profile', 'profile url'], looks: /^(https?:\/\/)?([a-z]+\.)?linkedin\.com\/\S+$/i },
  { headers: ['job title', 'title', 'position', 'role', 'job', 'function'] },
];

const plain = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ').trim();

/** The column for a name such as “First name”: by its header, or else by what its values look like. */
export function guessColumn(name: string, columns: readonly Column[], sample: (columnId: string) => Json[], taken: readonly string[] = []): Guess | undefined {
  const free = columns.filter(({ id }) => !taken.includes(id));
  const wanted = plain(name);
  const kind = KINDS.find(({ headers }) => headers.includes(wanted));
  for (const header of [wanted, ...(kind?.headers ?? [])]) {
    const column = free.find((candidate) => plain(candidate.header) === header);
    if (column) return { columnId: column.id, by: 'header' };
  }
  const { looks } = kind ?? {};
  const column = looks && free.find(({ id }) => fits(sample(id), looks));
  return column && { columnId: column.id, by: 'values' };
}

/** Whether most filled values look so, and there are any. */
function fits(values: readonly Json[], looks: RegExp): boolean {
  const filled = values.filter((value) => value !== null && value !== '');
  const fitting = filled.filter((value) => typeof value === 'string' && looks.test(value.trim()));
  return filled.length > 0 && fitting.length >= filled.length * 0.7;
}

/** A column for each name. No column is chosen twice. */
export function guessColumns(names: readonly string[], columns: readonly Column[], sample: (columnId: string) => Json[]): Record<string, Guess> {
  const guesses: Record<string, Guess> = {};
  for (const name of names) {
    const taken = Object.values(guesses).map(({ columnId }) => columnId);
    const guess = guessColumn(name, columns, sample, taken);
    if (guess) guesses[name] = guess;
  }
  return guesses;
}
