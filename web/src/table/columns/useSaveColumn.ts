import { useMutation, useQueryClient } from '@tanstack/react-query';
import { client, data } from '../../api/client';
import { projectQuery } from '../../api/queries';
import type { ColumnCreate, ColumnPatch } from '../../api/types';
import { tickFirstStep } from '../../ui/firstSteps';
import { wholeFormat } from '../formats/wholeFormat';
import { toChange } from './changeBody';
import { type ColumnDraft, draftOf, toBody } from './draft';

interface SavedColumn {
  columnId: string;
  appliedFixes: string[];
  /** The draft as the service stored it. */
  stored: ColumnDraft;
}

/** A column as the service has it, and the tag that says so. */
export interface StoredColumn {
  draft: ColumnDraft;
  tag: string | undefined;
}

/** Creates the column, or changes it if it has an id. With a tag, only if nobody changed it since. */
export function useSaveColumn(projectId: string, columnId: string | undefined) {
  const queryClient = useQueryClient();
  const { queryKey } = projectQuery(projectId);
  const send = async (body: ColumnCreate, tag: string | undefined): Promise<{ column: { id: string }; appliedFixes: string[] }> => {
    if (columnId === undefined) {
      return data(client.POST('/v4/projects/{projectId}/columns', { params: { path: { projectId } }, body }));
    }
    const { templateId: _, format, ...patch } = body;
    return data(
      client.PATCH('/v4/projects/{projectId}/columns/{columnId}', {
        params: { path: { projectId, columnId }, ...(tag !== undefined && { header: { 'If-Match': tag } }) },
        body: { ...patch, format: wholeFormat(format ?? null) } as ColumnPatch,
      }),
    );
  };
  return useMutation({
    mutationFn: async ({ draft, stored, tag }: StoredColumn & { stored: ColumnDraft }): Promise<SavedColumn> => {
      const { column, appliedFixes } = await send(columnId === undefined ? toBody(draft) : toChange(draft, stored), tag);
      if (columnId === undefined) tickFirstStep('column');
      await queryClient.invalidateQueries({ queryKey });
      const now = queryClient.getQueryData(queryKey)?.columns.find(({ id }) => id === column.id);
      return { columnId: column.id, appliedFixes, stored: now ? draftOf(now) : draft };
    },
  });
}

/** Fetches the column as the service has it now. */
export function useFetchColumn(projectId: string, columnId: string | undefined) {
  return useMutation({
    mutationFn: async (): Promise<StoredColumn | undefined> => {
      if (columnId === undefined) return undefined;
      const answer = await client.GET('/v4/projects/{projectId}/columns/{columnId}', { params: { path: { projectId, columnId } } });
      // A proxy that compresses answers marks tags as weak, which would match nothing.
      const tag = answer.response.headers.get('ETag')?.replace(/^W\//, '');
      return answer.data && { draft: draftOf(answer.data.column), tag };
    },
  });
}
