import { queryOptions } from '@tanstack/react-query';
import { client, data } from './client';
import { isOpen } from './importJob';
import type { components } from '../../generated/schema';

export type ImportAnswer = components['schemas']['ImportAnswer'];

const POLL_MILLISECONDS = 1_000;

/** Imports that run in the background, newest first. Asked again and again while one is not over. */
export const importsQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['imports', projectId],
    queryFn: async () => (await data(client.GET('/v4/projects/{projectId}/imports', { params: { path: { projectId } } }))).jobs,
    refetchInterval: ({ state }) => (state.data?.some(isOpen) ? POLL_MILLISECONDS : false),
    staleTime: 0,
  });

export function readImport(projectId: string, jobId: string): Promise<ImportAnswer> {
  return data(client.GET('/v4/projects/{projectId}/imports/{jobId}', { params: { path: { projectId, jobId } } }));
}

export function cancelImport(projectId: string, jobId: string): Promise<ImportAnswer> {
  return data(client.DELETE('/v4/projects/{projectId}/imports/{jobId}', { params: { path: { projectId, jobId } } }));
}
