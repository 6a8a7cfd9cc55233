import { describe, expect, it } from 'vitest';
import { isExpired, keyBody, type KeyForm, restrictionsOf, SCOPES } from '../../src/settings/keyScopes';

const ALL = SCOPES.map(({ scope }) => scope);
const FORM: KeyForm = { name: ' Sync ', scopes: ALL, projectIds: [], expiry: 'never', allowFrom: [] };
const NOW = Date.parse('2026-01-01T00:00:00Z');

describe('a new key', () => {
  it('without restrictions is sent with its name alone', () => {
    expect(keyBody(FORM, NOW)).toEqual({ name: 'Sync' });
  });

  it('is sent with what it is restricted to', () => {
    const form = { ...FORM, scopes: ['run', 'read'] as const, expiry: '7', allowFrom: ['10.0.0.0/8'] };
    expect(keyBody(form, NOW)).toEqual({
      name: 'Sync',
      scopes: ['read', 'run'],
      expiresAt: '2026-01-08T00:00:00.000Z',
      allowFrom: ['10.0.0.0/8'],
    });
  });

  it('for some projects cannot manage the team', () => {
    const { scopes, projectIds } = keyBody({ ...FORM, projectIds: ['proj_1'] }, NOW);
    expect([scopes, projectIds]).toEqual([['read', 'write', 'run', 'schema'], ['proj_1']]);
  });
});

describe('a listed key', () => {
  it('says what it is restricted to', () => {
    const titleOf = (id: string) => (id === 'proj_1' ? 'Leads' : 'gone');
    expect(restrictionsOf({ scopes: ALL, projectIds: null, allowFrom: null }, titleOf)).toEqual(['Full access']);
    expect(restrictionsOf({ scopes: ['read'], projectIds: ['proj_1'], allowFrom: ['::1'] }, titleOf)).toEqual([
      'read',
      'only Leads',
      'from ::1',
    ]);
  });

  it('expires when its time has come', () => {
    expect(isExpired({ expiresAt: null }, NOW)).toBe(false);
    expect(isExpired({ expiresAt: '2026-01-01T00:00:00Z' }, NOW)).toBe(true);
  });
});
