import { ActionIcon, Menu, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { client, data } from '../api/client';
import { projectsQuery } from '../api/queries';
import { restoreProjects, useRestoreNote } from '../api/trash';
import type { ProjectItem } from '../api/types';
import { ConfirmDialog } from '../ui/ConfirmDialog';
import { DuplicateDialog } from '../ui/DuplicateDialog';
import { timeAgo } from '../ui/format';
import { Icon } from '../ui/Icon';
import { NameDialog } from '../ui/NameDialog';
import { notifyError } from '../ui/notify';
import { notifyAction } from '../ui/notifyAction';
import { FolderDialog } from './FolderDialog';
import classes from './Projects.module.css';

type Dialog = 'rename' | 'duplicate' | 'move' | 'delete';

interface Props {
  project: ProjectItem;
  isStarred: boolean;
  onStar: () => void;
}

export function ProjectCard({ project, isStarred, onStar }: Props) {
  const [dialog, setDialog] = useState<Dialog>();
  return (
    <li className={classes.card}>
      <Link href={`/projects/${project.id}`} className={classes.link}>
        <span className={classes.mark} aria-hidden>
          <Icon name="table" size={20} />
        </span>
        <Text component="span" fw={620} lineClamp={2}>
          {project.title}
        </Text>
      </Link>
      <Text size="sm" c="dimmed" className={classes.facts} truncate>
        {project.folderId && `${project.folderId} · `}
        {project.columnCount} {project.columnCount === 1 ? 'column' : 'columns'} · created {timeAgo(project.createdAt)}
        {project.autoplay && ' · runs automatically'}
      </Text>
      <ActionIcon
        variant="subtle"
        color={isStarred ? 'yellow' : 'gray'}
        className={classes.star}
        data-on={isStarred || undefined}
        aria-label={`Star ${project.title}`}
        aria-pressed={isStarred}
        onClick={onStar}
      >
        <Icon name={isStarred ? 'starred' : 'star'} />
      </ActionIcon>
      <ProjectMenu project={project} onOpen={setDialog} />
      {dialog && <ProjectDialog project={project} dialog={dialog} onClose={() => setDialog(undefined)} />}
    </li>
  );
}

function ProjectMenu({ project, onOpen }: { project: ProjectItem; onOpen: (dialog: Dialog) => void }) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" className={classes.more} aria-label={`Menu for ${project.title}`}>
          <Icon name="dots" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<Icon name="pencil" />} onClick={() => onOpen('rename')}>
          Rename
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="copy" />} onClick={() => onOpen('duplicate')}>
          Duplicate
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="folder" />} onClick={() => onOpen('move')}>
          Move to folder
        </Menu.Item>
        <Menu.Item
          component={Link}
          href={`/projects/${project.id}/settings/general`}
          leftSection={<Icon name="settings" />}
        >
          Settings
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item className={classes.danger} leftSection={<Icon name="trash" />} onClick={() => onOpen('delete')}>
          Delete
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function ProjectDialog({ project, dialog, onClose }: { project: ProjectItem; dialog: Dialog; onClose: () => void }) {
  const queryClient = useQueryClient();
  const params = { path: { projectId: project.id } };
  const refetch = () => queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
  const rename = async (title: string) => {
    await data(client.PATCH('/v4/projects/{projectId}', { params, body: { title } }));
    await refetch();
  };
  const remove = async () => {
    await data(client.DELETE('/v4/projects/{projectId}', { params }));
    offerProjectRestore(project, refetch);
    await refetch();
  };
  if (dialog === 'duplicate') return <DuplicateDialog project={project} onClose={onClose} />;
  if (dialog === 'move') return <FolderDialog project={project} onClose={onClose} />;
  if (dialog === 'rename') {
    return <NameDialog title="Rename project" label="Name" initial={project.title} action="Rename" onSubmit={rename} onClose={onClose} />;
  }
  return (
    <ConfirmDialog title={`Delete “${project.title}”?`} action="Delete project" onConfirm={remove} onClose={onClose}>
      This deletes the project with all rows, columns and views for everyone. <RestoreNote />
    </ConfirmDialog>
  );
}

function RestoreNote() {
  return useRestoreNote();
}

function offerProjectRestore({ id, title }: ProjectItem, onRestored: () => Promise<unknown>): void {
  notifyAction(`“${title}” deleted.`, 'Undo', () => {
    restoreProjects([id]).then(onRestored, (error: unknown) => notifyError(error, 'The project was not restored'));
  });
}
