import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { templatesQuery } from '../../api/queries';
import { Icon } from '../../ui/Icon';
import { SidePanel } from '../../ui/SidePanel';
import { columnIcon } from '../model/columnIcon';
import type { TemplateId } from '../model/templates';
import classes from './Columns.module.css';

interface Props {
  projectId: string;
  /** What else can be added, below the types. */
  children: ReactNode;
  onChoose: (templateId: TemplateId, header: string) => void;
  onClose: () => void;
}

/** Gallery of column types. */
export function GalleryPanel({ projectId, children, onChoose, onClose }: Props) {
  const templates = useQuery(templatesQuery(projectId));
  return (
    <SidePanel title="Add a column" icon="plus" onClose={onClose}>
      <Stack gap="sm">
        {templates.isPending && [0, 1, 2, 3].map((place) => <Skeleton key={place} h={72} />)}
        {templates.data?.map((template) => (
          <button
            key={template.id}
            type="button"
            className={classes.template}
            onClick={() => onChoose(template.id as TemplateId, template.label)}
          >
            <span className={classes.templateIcon} aria-hidden>
              <Icon name={columnIcon({ ...template, id: '', ...(template.id === 'fan-out' && { taskConfig: { taskType: 'fanOut' } }) })} size={20} />
            </span>
            <span>
              <Text component="span" display="block" fw={620} size="sm">
                {template.label}
              </Text>
              <Text component="span" display="block" size="sm" c="dimmed">
                {template.description}
              </Text>
            </span>
          </button>
        ))}
        {children}
      </Stack>
    </SidePanel>
  );
}
