import { ActionIcon, Menu, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { client, data } from '../api/client';
import { projectQuery, projectsQuery } from '../api/queries';
import { DuplicateDialog } from '../ui/DuplicateDialog';
import { Icon } from '../ui/Icon';
import { NameDialog } from '../ui/NameDialog';
import classes from './Table.module.css';

/** Breadcrumb with the project's name and its menu. */
export function ProjectTrail({ projectId, title }: { projectId: string; title: string }) {
  const [isRenaming, setIsRenaming] = useState(false);
  const [isDuplicating, setIsDuplicating] = useState(false);
  const queryClient = useQueryClient();
  const rename = async (name: string) => {
    await data(client.PATCH('/v4/projects/{projectId}', { params: { path: { projectId } }, body: { title: name } }));
    await queryClient.invalidateQueries({ queryKey: projectQuery(projectId).queryKey });
    void queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
  };
  return (
    <div className={classes.trail}>
      <Text component="h1" size="md" fw={620} truncate>
        {title}
      </Text>
      <Menu position="bottom-start" width={200}>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size="sm" aria-label="Project menu">
            <Icon name="chevronDown" size={15} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="pencil" />} onClick={() => setIsRenaming(true)}>
            Rename
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="copy" />} onClick={() => setIsDuplicating(true)}>
            Duplicate
          </Menu.Item>
          <Menu.Item component={Link} href={`/projects/${projectId}/settings/general`} leftSection={<Icon name="settings" />}>
            Project settings
          </Menu.Item>
          <Menu.Item component={Link} href={`/projects/${projectId}/settings/api`} leftSection={<Icon name="code" />}>
            API
          </Menu.Item>
          <Menu.Item component={Link} href="/" leftSection={<Icon name="table" />}>
            All projects
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isDuplicating && <DuplicateDialog project={{ id: projectId, title }} onClose={() => setIsDuplicating(false)} />}
      {isRenaming && (
        <NameDialog
          title="Rename project"
          label="Name"
          initial={title}
          action="Rename"
          onSubmit={rename}
          onClose={() => setIsRenaming(false)}
        />
      )}
    </div>
  );
}
