import { Anchor, Center, Loader, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { projectQuery } from '../api/queries';
import { Shell } from '../shell/Shell';
import { usePageTitle } from '../shell/usePageTitle';
import { ProjectError } from '../ui/ProjectError';
import { ApiSection } from './ApiSection';
import { EventSection } from './EventSection';
import { GeneralSection } from './GeneralSection';
import { HooksSection } from './HooksSection';
import { type Section, SettingsLayout } from './SettingsLayout';

/** Settings of one project. */
export default function ProjectSettingsPage({ projectId, section }: { projectId: string; section: string | undefined }) {
  const project = useQuery(projectQuery(projectId));
  usePageTitle(project.data && `Settings of ${project.data.title}`);
  const trail = (
    <Text size="md" truncate>
      <Anchor component={Link} href={`/projects/${projectId}`} underline="hover" fw={620} c="inherit">
        {project.data?.title ?? 'Project'}
      </Anchor>
    </Text>
  );
  if (project.isError) {
    return (
      <Shell trail={trail}>
        <ProjectError projectId={projectId} error={project.error} onRetry={() => void project.refetch()} />
      </Shell>
    );
  }
  if (!project.data) {
    return (
      <Shell trail={trail}>
        <Center h="100%">
          <Loader size="sm" />
        </Center>
      </Shell>
    );
  }
  const found = project.data;
  const sections: Section[] = [
    { id: 'general', label: 'General', icon: 'settings', content: () => <GeneralSection project={found} /> },
    { id: 'api', label: 'API', icon: 'code', content: () => <ApiSection project={found} /> },
    { id: 'hooks', label: 'Inbound webhooks', icon: 'download', content: () => <HooksSection project={found} /> },
    { id: 'event', label: 'Event platform', icon: 'calendar', content: () => <EventSection project={found} /> },
  ];
  return (
    <Shell trail={trail}>
      <SettingsLayout title="Project settings" base={`/projects/${projectId}/settings`} sections={sections} section={section} />
    </Shell>
  );
}
