import { Button, Group, Switch, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { client, data } from '../api/client';
import { projectsQuery } from '../api/queries';
import { useRestoreNote } from '../api/trash';
import type { Project } from '../api/types';
import { ConfirmDialog } from '../ui/ConfirmDialog';
import { Card } from './Card';
import { usePatchProject } from './usePatchProject';

export function GeneralSection({ project }: { project: Project }) {
  const patch = usePatchProject(project.id);
  const queryClient = useQueryClient();
  const [, navigate] = useLocation();
  const restoreNote = useRestoreNote();
  const [title, setTitle] = useState(project.title);
  const [isDeleting, setIsDeleting] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    patch.mutate({ title: title.trim() });
  };
  const remove = async () => {
    await data(client.DELETE('/v4/projects/{projectId}', { params: { path: { projectId: project.id } } }));
    void queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
    navigate('/');
  };
  return (
    <>
      <Card title="Name">
        <form onSubmit={submit}>
          <Group align="flex-end">
            <TextInput label="Project name" flex={1} maxLength={255} value={title} onChange={(event) => setTitle(event.currentTarget.value)} />
            <Button type="submit" disabled={!title.trim() || title.trim() === project.title} loading={patch.isPending}>
              Rename
            </Button>
          </Group>
        </form>
      </Card>
      <Card title="Running" guide="first-table" text="When columns fill their cells.">
        <Switch
          label="Run automatically"
          description="Columns run when a row is added or one of their inputs changes. When off, columns run only when you start them, and outdated cells are marked."
          checked={(patch.isPending ? patch.variables.autoplay : undefined) ?? project.autoplay}
          onChange={(event) => patch.mutate({ autoplay: event.currentTarget.checked })}
        />
      </Card>
      <Card title="Delete" text={`Deletes the project with all rows, columns and views for everyone. ${restoreNote}`}>
        <div>
          <Button color="red" variant="light" onClick={() => setIsDeleting(true)}>
            Delete this project
          </Button>
        </div>
      </Card>
      {isDeleting && (
        <ConfirmDialog title={`Delete “${project.title}”?`} action="Delete project" onConfirm={remove} onClose={() => setIsDeleting(false)}>
          This deletes the project with all rows, columns and views for everyone. {restoreNote}
        </ConfirmDialog>
      )}
    </>
  );
}
