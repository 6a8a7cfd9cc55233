import { Button, Checkbox, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { errorMessage } from '../api/error';
import { duplicateProject } from '../api/operations';
import { projectsQuery } from '../api/queries';

interface Props {
  project: { id: string; title: string };
  onClose: () => void;
}

/** Makes a copy of a project, and opens it. */
export function DuplicateDialog({ project, onClose }: Props) {
  const [title, setTitle] = useState(`Copy of ${project.title}`.slice(0, 255));
  const [rows, setRows] = useState(false);
  const queryClient = useQueryClient();
  const [, navigate] = useLocation();
  const duplicate = useMutation({
    mutationFn: () => duplicateProject(project.id, { title: title.trim(), rows }),
    onSuccess: ({ project: copy }) => {
      void queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
      onClose();
      navigate(`/projects/${copy.id}`);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title.trim()) duplicate.mutate();
  };
  return (
    <Modal opened onClose={onClose} title="Duplicate project" size="sm" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Name"
            value={title}
            maxLength={255}
            data-autofocus
            onChange={(event) => setTitle(event.currentTarget.value)}
            error={duplicate.isError ? errorMessage(duplicate.error) : undefined}
          />
          <Checkbox
            label="With its rows"
            description="Results are copied as values, so nothing runs or costs again."
            checked={rows}
            onChange={(event) => setRows(event.currentTarget.checked)}
          />
          <Text size="sm" c="dimmed">
            Columns, views and settings are always copied. Autoplay is off in the copy.
          </Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={duplicate.isPending} disabled={!title.trim()}>
              Duplicate
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
