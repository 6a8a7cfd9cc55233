import { useMutation, useQueryClient } from '@tanstack/react-query';
import { client, data } from '../api/client';
import { projectQuery, projectsQuery } from '../api/queries';
import type { ProjectPatch } from '../api/types';
import { notify, notifyError } from '../ui/notify';

export function usePatchProject(projectId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: ProjectPatch) => data(client.PATCH('/v4/projects/{projectId}', { params: { path: { projectId } }, body })),
    onSuccess: async () => {
      notify('Saved.');
      void queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
      await queryClient.invalidateQueries({ queryKey: projectQuery(projectId).queryKey });
    },
    onError: (error) => notifyError(error, 'This was not saved'),
  });
}
