import type { ApiKey, KeyCreate, Scope } from '../api/types';

/** What a key may do, in the words of the page. */
export const SCOPES: readonly { scope: Scope; label: string; description: string }[] = [
  { scope: 'read', label: 'Read', description: 'See tables, rows and runs, and export them.' },
  { scope: 'write', label: 'Write', description: 'Add, change, import and delete rows.' },
  { scope: 'run', label: 'Run', description: 'Start and stop runs, which may cost money.' },
  { scope: 'schema', label: 'Schema', description: 'Create, change and delete projects, columns and views.' },
  { scope: 'admin', label: 'Admin', description: 'Manage keys, signed-in browsers, the team, providers and secrets.' },
];

/** What agents usually need. */
export const AGENT_SCOPES: readonly Scope[] = ['read', 'write', 'run', 'schema'];

export interface KeyForm {
  name: string;
  scopes: readonly Scope[];
  projectIds: readonly string[];
  /** Days until the key expires, or `never`. */
  expiry: string;
  allowFrom: readonly string[];
}

export const EXPIRIES = [
  { value: 'never', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
];

/** The scopes of a key that the form makes. A key for some projects cannot manage the team. */
export function grantedScopes({ scopes, projectIds }: Pick<KeyForm, 'scopes' | 'projectIds'>): Scope[] {
  return SCOPES.map(({ scope }) => scope).filter((scope) => scopes.includes(scope) && (scope !== 'admin' || projectIds.length === 0));
}

export function keyBody(form: KeyForm, now = Date.now()): KeyCreate {
  const scopes = grantedScopes(form);
  const days = Number(form.expiry);
  return {
    name: form.name.trim(),
    // A key without named scopes also gets those that are added later.
    ...(scopes.length < SCOPES.length && { scopes }),
    ...(form.projectIds.length > 0 && { projectIds: [...form.projectIds] }),
    ...(days > 0 && { expiresAt: new Date(now + days * 86_400_000).toISOString() }),
    ...(form.allowFrom.length > 0 && { allowFrom: [...form.allowFrom] }),
  };
}

/** What a key may do, where and from where, in a few words. */
export function restrictionsOf(key: Pick<ApiKey, 'scopes' | 'projectIds' | 'allowFrom'>, titleOf: (id: string) => string): string[] {
  const words = [key.scopes.length === SCOPES.length ? 'Full access' : key.scopes.join(', ')];
  if (key.projectIds) words.push(`only ${key.projectIds.map(titleOf).join(', ')}`);
  if (key.allowFrom) words.push(`from ${key.allowFrom.join(', ')}`);
  return words;
}

export function isExpired(key: Pick<ApiKey, 'expiresAt'>, now = Date.now()): boolean {
  return key.expiresAt !== null && Date.parse(key.expiresAt) <= now;
}
