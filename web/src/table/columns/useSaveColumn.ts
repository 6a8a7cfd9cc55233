import { useMutation, useQueryClient } from '@tanstack/react-query';
import { client, data } from '../../api/client';
import { projectQuery } from '../../api/queries';
import type { ColumnCreate, ColumnPatch } from '../../api/types';
import { type ColumnDraft, draftOf, toBody } from './draft';

interface SavedColumn {
  columnId: string;
  appliedFixes: string[];
  /** The draft as the service stored it. */
  stored: ColumnDraft;
}

/** Creates the column, or changes it if it has an id. */
export function useSaveColumn(projectId: string, columnId: string | undefined) {
  const queryClient = useQueryClient();
  const { queryKey } = projectQuery(projectId);
  const send = async (body: ColumnCreate): Promise<{ column: { id: string }; appliedFixes: string[] }> => {
    if (columnId === undefined) {
      return data(client.POST('/v4/projects/{projectId}/columns', { params: { path: { projectId } }, body }));
    }
    const { templateId: _, ...patch } = body;
    return data(
      client.PATCH('/v4/projects/{projectId}/columns/{columnId}', {
        params: { path: { projectId, columnId } },
        body: patch as ColumnPatch,
      }),
    );
  };
  return useMutation({
    mutationFn: async (draft: ColumnDraft): Promise<SavedColumn> => {
      const { column, appliedFixes } = await send(toBody(draft));
      await queryClient.invalidateQueries({ queryKey });
      const now = queryClient.getQueryData(queryKey)?.columns.find(({ id }) => id === column.id);
      return { columnId: column.id, appliedFixes, stored: now ? draftOf(now) : draft };
    },
  });
}

/** Fetches the column as the service has it now. */
export function useFetchColumn(projectId: string, columnId: string | undefined) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async (): Promise<ColumnDraft | undefined> => {
      if (columnId === undefined) return undefined;
      const { columns } = await queryClient.fetchQuery({ ...projectQuery(projectId), staleTime: 0, retry: false });
      const column = columns.find(({ id }) => id === columnId);
      return column && draftOf(column);
    },
  });
}
