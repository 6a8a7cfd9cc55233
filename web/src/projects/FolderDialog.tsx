import { Autocomplete, Button, Group, Modal, Stack } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { client, data } from '../api/client';
import { errorMessage } from '../api/error';
import { projectsQuery } from '../api/queries';
import type { ProjectItem } from '../api/types';
import { foldersOf } from './folders';

/** Moves a project into a folder. A folder is there as long as a project is in it. */
export function FolderDialog({ project, onClose }: { project: ProjectItem; onClose: () => void }) {
  const [name, setName] = useState(project.folderId ?? '');
  const { data: projects } = useQuery(projectsQuery);
  const queryClient = useQueryClient();
  const move = useMutation({
    mutationFn: async (folderId: string | null) => {
      await data(client.PATCH('/v4/projects/{projectId}', { params: { path: { projectId: project.id } }, body: { folderId } }));
      await queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
    },
    onSuccess: onClose,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    move.mutate(name.trim() || null);
  };
  return (
    <Modal opened onClose={onClose} title={`Move “${project.title}”`} size="sm" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack>
          <Autocomplete
            label="Folder"
            description="Choose one or type a new name. Leave it empty for no folder."
            data={foldersOf(projects ?? []).map((folder) => folder.name)}
            value={name}
            maxLength={255}
            data-autofocus
            onChange={setName}
            error={move.isError ? errorMessage(move.error) : undefined}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={move.isPending}>
              Move
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
