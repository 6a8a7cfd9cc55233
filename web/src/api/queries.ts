import { infiniteQueryOptions, QueryClient, queryOptions } from '@tanstack/react-query';
import { client, data } from './client';
import { ApiError } from './error';
import { readSession } from './session';

/** Caching defaults. Live pages invalidate queries by server-sent events. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500),
    },
  },
});

const path = (projectId: string) => ({ params: { path: { projectId } } });

export const sessionQuery = queryOptions({ queryKey: ['session'], queryFn: readSession, staleTime: Infinity });

export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: async () => (await data(client.GET('/v4/projects'))).projects,
});

export const projectQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId],
    queryFn: async () => (await data(client.GET('/v4/projects/{projectId}', path(projectId)))).project,
  });

export const viewsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['views', projectId],
    queryFn: async () => (await data(client.GET('/v4/projects/{projectId}/views', path(projectId)))).views,
  });

export const statusQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['status', projectId],
    queryFn: () => data(client.GET('/v4/projects/{projectId}/status', path(projectId))),
  });

export const runsQuery = (projectId: string) =>
  infiniteQueryOptions({
    queryKey: ['runs', projectId],
    queryFn: ({ pageParam }) =>
      data(
        client.GET('/v4/projects/{projectId}/runs', {
          params: { path: { projectId }, query: { pageSize: 30, ...(pageParam && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: ({ pagination }) => pagination.nextCursor ?? undefined,
    staleTime: 0,
  });

/** How often the facts of a run that goes on are read again. */
const RUN_MILLISECONDS = 3_000;

/** One run. Its counts come with the status; this tells the rest: causes, rate limits, the estimate. */
export const runQuery = (projectId: string, runId: string, isRunning: boolean) =>
  queryOptions({
    queryKey: ['run', projectId, runId, isRunning],
    queryFn: async () =>
      (await data(client.GET('/v4/projects/{projectId}/runs/{runId}', { params: { path: { projectId, runId } } }))).run,
    staleTime: 0,
    refetchInterval: isRunning ? RUN_MILLISECONDS : false,
  });

export const templatesQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['templates'],
    queryFn: async () =>
      (await data(client.GET('/v4/projects/{projectId}/columns/templates', path(projectId)))).templates,
    staleTime: Infinity,
  });

export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: async () => (await data(client.GET('/v4/team/providers'))).providers,
});

export const secretsQuery = queryOptions({
  queryKey: ['secrets'],
  queryFn: async () => (await data(client.GET('/v4/team/secrets'))).secrets,
});

export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: async () => (await data(client.GET('/v4/team/webhooks'))).webhooks,
  staleTime: 0,
});

export const deliveriesQuery = (webhookId: string) =>
  infiniteQueryOptions({
    queryKey: ['deliveries', webhookId],
    queryFn: ({ pageParam }) =>
      data(
        client.GET('/v4/team/webhooks/{webhookId}/deliveries', {
          params: { path: { webhookId }, query: { pageSize: 20, ...(pageParam && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: '',
    getNextPageParam: ({ pagination }) => pagination.nextCursor ?? undefined,
    staleTime: 0,
  });

export const hooksQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['hooks', projectId],
    queryFn: async () => (await data(client.GET('/v4/projects/{projectId}/hooks', path(projectId)))).hooks,
    staleTime: 0,
  });

/** Deliveries to a hook, or those of the event platform. */
export const inboundQuery = (hookId: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ['inbound', hookId ?? 'eventplatform'],
    queryFn: ({ pageParam }) => {
      const of = hookId ? { hookId } : { source: 'eventplatform' as const };
      return data(client.GET('/v4/team/inbound-deliveries', { params: { query: { pageSize: 20, ...of, ...(pageParam && { cursor: pageParam }) } } }));
    },
    initialPageParam: '',
    getNextPageParam: ({ pagination }) => pagination.nextCursor ?? undefined,
    staleTime: 0,
  });

export const teamQuery = queryOptions({
  queryKey: ['team'],
  queryFn: async () => (await data(client.GET('/v4/team'))).team,
});
