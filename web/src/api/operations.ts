import { client, data } from './client';
import type {
  CompareBody,
  Comparison,
  HookCreate,
  HookPatch,
  KeyCreate,
  KeyRotate,
  SpendingBody,
  TryBody,
  TryResult,
  UsageGroup,
  WebhookCreate,
  WebhookPatch,
} from './types';

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

export const duplicateProject = (projectId: string, body: { title: string; rows: boolean }) =>
  data(client.POST('/v4/projects/{projectId}/duplicate', { params: { path: { projectId } }, body }));
export const createSample = () => data(client.POST('/v4/projects/sample'));
export const readUsage = () => data(client.GET('/v4/usage'));
export const readSpending = () => data(client.GET('/v4/team/spending'));
export const readSpendingUsage = (groupBy: UsageGroup, more: { projectId?: string; from?: string } = {}) =>
  data(client.GET('/v4/usage/spending', { params: { query: { groupBy, ...more } } }));
export const setSpending = (body: SpendingBody) => data(client.PUT('/v4/team/spending', { body }));

const webhook = (webhookId: string) => ({ params: { path: { webhookId } } });

export const createWebhook = (body: WebhookCreate) => data(client.POST('/v4/team/webhooks', { body }));
export const changeWebhook = (id: string, body: WebhookPatch) => data(client.PATCH('/v4/team/webhooks/{webhookId}', { ...webhook(id), body }));
export const deleteWebhook = (id: string) => data(client.DELETE('/v4/team/webhooks/{webhookId}', webhook(id)));
export const rotateWebhookSecret = (id: string) => data(client.POST('/v4/team/webhooks/{webhookId}/rotate', { ...webhook(id), body: {} }));
export const testWebhook = (id: string) => data(client.POST('/v4/team/webhooks/{webhookId}/test', webhook(id)));
export const replayDeliveries = (id: string, body: { since: string; onlyFailed: boolean }) =>
  data(client.POST('/v4/team/webhooks/{webhookId}/replay', { ...webhook(id), body }));
export const replayDelivery = (webhookId: string, deliveryId: string) =>
  data(client.POST('/v4/team/webhooks/{webhookId}/deliveries/{deliveryId}/replay', { params: { path: { webhookId, deliveryId } } }));

const hook = (projectId: string, hookId: string) => ({ params: { path: { projectId, hookId } } });

export const createHook = (projectId: string, body: HookCreate) =>
  data(client.POST('/v4/projects/{projectId}/hooks', { params: { path: { projectId } }, body }));
export const changeHook = (projectId: string, hookId: string, body: HookPatch) =>
  data(client.PATCH('/v4/projects/{projectId}/hooks/{hookId}', { ...hook(projectId, hookId), body }));
export const deleteHook = (projectId: string, hookId: string) =>
  data(client.DELETE('/v4/projects/{projectId}/hooks/{hookId}', hook(projectId, hookId)));
export const rotateHook = (projectId: string, hookId: string) =>
  data(client.POST('/v4/projects/{projectId}/hooks/{hookId}/rotate', { ...hook(projectId, hookId), body: {} }));
export const readInbound = (deliveryId: string) =>
  data(client.GET('/v4/team/inbound-deliveries/{deliveryId}', { params: { path: { deliveryId } } }));
export const replayInbound = (deliveryId: string) =>
  data(client.POST('/v4/team/inbound-deliveries/{deliveryId}/replay', { params: { path: { deliveryId } } }));

export const testProvider = (provider: string) =>
  data(client.POST('/v4/team/providers/{provider}/test', { params: { path: { provider } } }));

export const tryColumn = (projectId: string, body: TryBody): Promise<TryResult> =>
  data(client.POST('/v4/projects/{projectId}/try', { params: { path: { projectId } }, body })) as Promise<TryResult>;

export const compareColumn = (projectId: string, body: CompareBody): Promise<Comparison> =>
  data(client.POST('/v4/projects/{projectId}/compare', { params: { path: { projectId } }, body })) as Promise<Comparison>;
