import { request } from './client';
import type { Cell, ColumnCreate, Json, Project } from './types';

export interface ApiKey {
  id: string;
  name: string;
  createdAt: string;
  lastUsedAt?: string | null;
  current: boolean;
}

export interface Team {
  id: string;
  slug: string;
  name: string;
}

export const listKeys = () => request<{ keys: ApiKey[] }>('GET', '/v4/keys');
export const createKey = (name: string) => request<{ key: ApiKey; secret: string }>('POST', '/v4/keys', { name });
export const revokeKey = (id: string) => request<void>('DELETE', `/v4/keys/${id}`);
export const renameTeam = (name: string) => request<{ team: Team }>('PATCH', '/v4/team', { name });
export const listTeams = () => request<{ teams: Team[] }>('GET', '/v4/teams');
export const createTeam = (slug: string, name: string) =>
  request<{ team: Team; secret: string }>('POST', '/v4/teams', { slug, name: name || undefined });

export const createSample = () => request<{ project: Project }>('POST', '/v4/projects/sample');

export interface ProviderTest {
  ok: boolean;
  message: string;
  milliseconds: number;
}
export const testProvider = (id: string) => request<ProviderTest>('POST', `/v4/team/providers/${id}/test`);

export interface UsageCells {
  idle: number;
  queued: number;
  generating: number;
  completed: number;
  error: number;
  skipped: number;
}
export interface Usage {
  projects: { id: string; name: string; rows: number; cells: UsageCells }[];
  totals: { rows: number; cells: UsageCells };
}
export const readUsage = () => request<Usage>('GET', '/v4/usage');

export interface TryBody {
  rowId: string;
  column: ColumnCreate;
  columnId?: string;
  dryRun?: boolean;
}
export interface TryResult {
  resolved: Record<string, Json>;
  result?: Pick<Cell, 'value' | 'error' | 'meta'> & { status: 'completed' | 'error' | 'skipped' };
  appliedFixes: string[];
}
export const tryColumn = (projectId: string, body: TryBody) =>
  request<TryResult>('POST', `/v4/projects/${projectId}/try`, body);
