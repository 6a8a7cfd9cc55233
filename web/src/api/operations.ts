import { client, data } from './client';
import type { KeyCreate, KeyRotate, TryBody, TryResult } from './types';

// API operations without parameters that differ between pages, named as in openapi.json.

export const listKeys = () => data(client.GET('/v4/keys'));
export const createKey = (body: KeyCreate) => data(client.POST('/v4/keys', { body }));
export const rotateKey = (keyId: string, body: KeyRotate) =>
  data(client.POST('/v4/keys/{keyId}/rotate', { params: { path: { keyId } }, body }));
export const revokeKey = (keyId: string) => data(client.DELETE('/v4/keys/{keyId}', { params: { path: { keyId } } }));

export const listSessions = () => data(client.GET('/v4/sessions'));
export const endSession = (sessionId: string) => data(client.DELETE('/v4/sessions/{sessionId}', { params: { path: { sessionId } } }));
export const endOtherSessions = () => data(client.DELETE('/v4/sessions'));

export const renameTeam = (name: string) => data(client.PATCH('/v4/team', { body: { name } }));
export const listTeams = () => data(client.GET('/v4/teams'));
export const createTeam = (slug: string, name: string) => data(client.POST('/v4/teams', { body: { slug, ...(name && { name }) } }));

export const createSample = () => data(client.POST('/v4/projects/sample'));
export const readUsage = () => data(client.GET('/v4/usage'));

export const testProvider = (provider: string) =>
  data(client.POST('/v4/team/providers/{provider}/test', { params: { path: { provider } } }));

export const tryColumn = (projectId: string, body: TryBody): Promise<TryResult> =>
  data(client.POST('/v4/projects/{projectId}/try', { params: { path: { projectId } }, body })) as Promise<TryResult>;
