import { Button, Group, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client, data } from '../api/client';
import { projectsQuery } from '../api/queries';
import { projectTrashKey, restoreProjects, type TrashedProject } from '../api/trash';
import { ConfirmDialog } from '../ui/ConfirmDialog';
import { ErrorState } from '../ui/ErrorState';
import { pluralize, timeAgo } from '../ui/format';
import { notifyError } from '../ui/notify';

const PAGE_SIZE = 200;

/** Deleted projects, with buttons to restore them. */
export function ProjectTrash({ onClose }: { onClose: () => void }) {
  const { trash, restoring, empty } = useProjectTrash();
  const [isEmptying, setIsEmptying] = useState(false);
  const projects = trash.data?.projects ?? [];
  const total = trash.data?.pagination.totalRows ?? 0;
  if (isEmptying) {
    return (
      <ConfirmDialog
        title="Empty the trash?"
        action="Empty trash"
        onConfirm={empty}
        onClose={() => setIsEmptying(false)}
      >
        This removes {pluralize(total, 'deleted project')} with all rows for good, for everyone. It cannot be undone.
      </ConfirmDialog>
    );
  }
  return (
    <Modal opened onClose={onClose} title="Deleted projects" size="lg" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        {trash.isPending && [0, 1].map((place) => <Skeleton key={place} h={48} />)}
        {trash.isError && <ErrorState error={trash.error} onRetry={() => void trash.refetch()} />}
        {trash.isSuccess && projects.length === 0 && (
          <Text size="sm" c="dimmed">
            No project was deleted. Projects that you delete appear here and can be restored.
          </Text>
        )}
        {projects.map((project) => (
          <DeletedProject key={project.id} project={project} isBusy={restoring.isPending} onRestore={() => restoring.mutate(project.id)} />
        ))}
        {total > projects.length && (
          <Text size="xs" c="dimmed">
            The last {PAGE_SIZE} of {pluralize(total, 'deleted project')} are shown.
          </Text>
        )}
        {total > 0 && (
          <Group justify="flex-end">
            <Button variant="light" color="red" onClick={() => setIsEmptying(true)}>
              Empty trash
            </Button>
          </Group>
        )}
      </Stack>
    </Modal>
  );
}

function useProjectTrash() {
  const queryClient = useQueryClient();
  const trash = useQuery({
    queryKey: projectTrashKey,
    queryFn: () => data(client.GET('/v4/trash', { params: { query: { pageSize: PAGE_SIZE } } })),
    staleTime: 0,
  });
  const reread = () =>
    Promise.all([projectTrashKey, projectsQuery.queryKey].map((queryKey) => queryClient.invalidateQueries({ queryKey })));
  const restoring = useMutation({
    mutationFn: (projectId: string) => restoreProjects([projectId]),
    onSuccess: reread,
    onError: (error) => notifyError(error, 'The project was not restored'),
  });
  const empty = async () => {
    await data(client.DELETE('/v4/trash'));
    await reread();
  };
  return { trash, restoring, empty };
}

interface DeletedProjectProps {
  project: TrashedProject;
  isBusy: boolean;
  onRestore: () => void;
}

function DeletedProject({ project, isBusy, onRestore }: DeletedProjectProps) {
  return (
    <Group wrap="nowrap" gap="sm">
      <div style={{ flex: 1, minWidth: 0 }}>
        <Text size="sm" fw={550} truncate>
          {project.title}
        </Text>
        <Text size="xs" c="dimmed" truncate>
          {pluralize(project.rowCount, 'row')} · deleted {timeAgo(project.deletedAt)}
          {project.deletedBy?.name && ` with the key “${project.deletedBy.name}”`}
        </Text>
      </div>
      <Button
        size="compact-sm"
        variant="light"
        disabled={isBusy}
        aria-label={`Restore ${project.title}`}
        style={{ flexShrink: 0 }}
        onClick={onRestore}
      >
        Restore
      </Button>
    </Group>
  );
}
