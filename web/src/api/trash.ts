import { queryOptions, useQuery } from '@tanstack/react-query';
import { client, data } from './client';
import type { components } from '../../generated/schema';

type Schemas = components['schemas'];

export type TrashedRow = Schemas['TrashedRow'];
export type TrashedColumn = Schemas['TrashedColumn'];
export type TrashedView = Schemas['TrashedView'];
export type TrashedProject = Schemas['TrashedProject'];
export type RestoreBody = Schemas['RestoreBody'];
export type Restored = Schemas['Restored'];

export const trashKey = (projectId: string) => ['trash', projectId];
export const projectTrashKey = ['projectTrash'];

const ROWS_PER_PAGE = 100;

export function readTrash(projectId: string, cursor: string | undefined) {
  const query = { pageSize: ROWS_PER_PAGE, ...(cursor !== undefined && { cursor }) };
  return data(client.GET('/v4/projects/{projectId}/trash', { params: { path: { projectId }, query } }));
}

export function restore(projectId: string, body: RestoreBody): Promise<Restored> {
  return data(client.POST('/v4/projects/{projectId}/trash/restore', { params: { path: { projectId } }, body }));
}

export function emptyTrash(projectId: string) {
  return data(client.DELETE('/v4/projects/{projectId}/trash', { params: { path: { projectId } } }));
}

export function restoreProjects(projectIds: string[]) {
  return data(client.POST('/v4/trash/restore', { body: { projectIds } }));
}

const limitsQuery = queryOptions({
  queryKey: ['limits'],
  queryFn: async () => (await data(client.GET('/v4/limits'))).limits,
  staleTime: Infinity,
});

/** One sentence for a dialog: whether and how long what is deleted can be restored. */
export function useRestoreNote(): string {
  const days = useQuery(limitsQuery).data?.trashDays;
  if (days === undefined) return '';
  if (days === 0) return 'This cannot be undone.';
  return `You can restore it from the trash${days < 1 ? ' for a short time' : ` for ${days} ${days === 1 ? 'day' : 'days'}`}.`;
}
