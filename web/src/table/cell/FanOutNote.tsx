import { Anchor, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { projectsQuery } from '../../api/queries';
import type { Column } from '../../api/types';

/** The way to the table that a cell's rows were written to. */
export function FanOutNote({ column }: { column: Column }) {
  const targetId = column.taskConfig?.fanOut?.targetProjectId;
  const projects = useQuery({ ...projectsQuery, enabled: Boolean(targetId) });
  const target = projects.data?.find(({ id }) => id === targetId);
  if (!target) return null;
  return (
    <Text size="sm">
      The rows are in{' '}
      <Anchor component={Link} href={`/projects/${target.id}`} underline="always">
        {target.title}
      </Anchor>
      .
    </Text>
  );
}
