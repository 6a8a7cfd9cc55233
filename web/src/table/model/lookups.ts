import type { Provider } from '../../api/types';
import type { TemplateId } from './templates';

export type LookupTask = Provider['tasks'][number];

/** What the server says, too, of a column whose providers are all disabled. */
export const ALL_DISABLED =
  'All providers of this column are disabled, so nobody is asked. Providers without an API key when the column is made start disabled, ' +
  'and a key that is added later does not enable them. Set a key under Settings, Providers, and then enable the provider in the column settings.';

/** One input of a column that asks providers in order. */
export interface LookupInput {
  key: string;
  label: string;
  /** What to look for in headers, if it is not the label. */
  lookFor?: string;
  placeholder?: string;
}

/** A kind of column that asks providers in order. */
export interface LookupKind {
  task: LookupTask;
  title: string;
  inputs: readonly LookupInput[];
  /** Which inputs are required, in words. */
  needs: string;
  /** What ends the search, in words. */
  ends: string;
}

const COMPANY: readonly LookupInput[] = [
  { key: 'domain', label: 'Company website or domain', lookFor: 'Website' },
  { key: 'name', label: 'Company name', lookFor: 'Company' },
];

const EMAIL: LookupKind = {
  task: 'waterfallEmail',
  title: 'Person to find',
  inputs: [
    { key: 'first_name', label: 'First name' },
    { key: 'last_name', label: 'Last name' },
    { key: 'full_name', label: 'Full name' },
    { key: 'domain', label: 'Company website or domain', lookFor: 'Website' },
  ],
  needs: 'Required: a domain, and either a full name or a first and last name.',
  ends: 'A verified address ends the search.',
};

const KINDS: Partial<Record<TemplateId, LookupKind>> = {
  'waterfall-email': EMAIL,
  'verify-email': {
    task: 'verifyEmail',
    title: 'Address to verify',
    inputs: [{ key: 'email', label: 'E-mail address', lookFor: 'Email' }],
    needs: 'Required: an e-mail address.',
    ends: 'The next one is asked only if the one before cannot tell.',
  },
  'find-company': {
    task: 'findCompany',
    title: 'Company to find',
    inputs: COMPANY,
    needs: 'Required: a domain or a name. The name is used if there is no domain.',
    ends: 'The first that knows the company ends the search.',
  },
  'find-people': {
    task: 'findPeople',
    title: 'Company to search',
    inputs: [...COMPANY, { key: 'job_title', label: 'Job titles', lookFor: '', placeholder: 'CEO, Head of Sales' }],
    needs: 'Required: a domain or a name. The name is used if there is no domain.',
    ends: 'The first that knows people there ends the search.',
  },
};

export function lookupKind(templateId: TemplateId): LookupKind {
  return KINDS[templateId] ?? EMAIL;
}

/** The API's names for the fields of a task. */
export const mappingPath = (task: LookupTask) => `taskConfig.${task}.inputMapping`;
export const providersPath = (task: LookupTask) => `taskConfig.${task}.providers`;

/** The required inputs that are missing, each with the message to show at it. */
export function missingInputs(task: LookupTask, mapping: Record<string, string>): Record<string, string> {
  const has = (key: string) => Boolean(mapping[key]?.trim());
  switch (task) {
    case 'verifyEmail':
      return has('email') ? {} : { email: 'Choose a column with e-mail addresses.' };
    case 'findCompany':
    case 'findPeople':
      return has('domain') || has('name') ? {} : { domain: 'Choose a column for the company’s website, domain or name.' };
    default: {
      const name = missingName(has);
      return {
        ...(name && { [name]: 'Choose a column for the full name, or for first and last name.' }),
        ...(!has('domain') && { domain: 'Choose a column for the company’s website or domain.' }),
      };
    }
  }
}

function missingName(has: (key: string) => boolean): string | undefined {
  if (has('full_name') || (has('first_name') && has('last_name'))) return undefined;
  if (has('first_name')) return 'last_name';
  return has('last_name') ? 'first_name' : 'full_name';
}
