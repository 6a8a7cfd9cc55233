import { ActionIcon, Button, Container, Group, SimpleGrid, Skeleton, Stack, Text, TextInput, Title, Tooltip } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import { useLocation } from 'wouter';
import { client, data } from '../api/client';
import { createSample } from '../api/operations';
import { projectsQuery } from '../api/queries';
import type { ProjectItem } from '../api/types';
import type { NavigationState } from '../shell/navigationState';
import { Shell } from '../shell/Shell';
import { usePageTitle } from '../shell/usePageTitle';
import { createSampleTable } from '../table/recipes/createSampleTable';
import type { Sample } from '../table/recipes/sample';
import { ErrorState } from '../ui/ErrorState';
import { startFirstSteps } from '../ui/firstSteps';
import { Icon } from '../ui/Icon';
import { NameDialog } from '../ui/NameDialog';
import { notifyError } from '../ui/notify';
import { useLocalStorage } from '../ui/useLocalStorage';
import { FirstProject } from './FirstProject';
import { FolderBar } from './FolderBar';
import { foldersOf, isShown } from './folders';
import { ProjectCard } from './ProjectCard';
import { inOrder } from './projectOrder';
import classes from './Projects.module.css';
import { ProjectTrash } from './ProjectTrash';
import { SampleMenu } from './SampleMenu';
import { useProjectMarks } from './useProjectMarks';

export default function ProjectsPage() {
  usePageTitle('Projects');
  const projects = useQuery(projectsQuery);
  const [search, setSearch] = useState('');
  const wanted = useDeferredValue(search.trim().toLowerCase());
  const [isNaming, setIsNaming] = useState(false);
  const [isTrashOpen, setIsTrashOpen] = useState(false);
  const { folders, folder, setFolder } = useFolders(projects.data ?? []);
  const { create, sample } = useNewProject(folder);
  const marks = useProjectMarks();
  const shown = inOrder(projects.data ?? [], marks).filter((project) => isShown(project, folder, wanted));

  return (
    <Shell>
      <Container size="lg" py={{ base: 'lg', sm: 40 }}>
        {projects.data?.length === 0 ? (
          <>
            <FirstProject
              onCreate={() => setIsNaming(true)}
              onSample={(chosen) => sample.mutate(chosen)}
              isMakingSample={sample.isPending}
            />
            <Group justify="center" mt="lg">
              <Button variant="subtle" color="gray" leftSection={<Icon name="trash" />} onClick={() => setIsTrashOpen(true)}>
                Deleted projects
              </Button>
            </Group>
          </>
        ) : (
          <>
            <ProjectsHeader
              search={search}
              onSearch={setSearch}
              onTrash={() => setIsTrashOpen(true)}
              onSample={(chosen) => sample.mutate(chosen)}
              isMakingSample={sample.isPending}
              onCreate={() => setIsNaming(true)}
            />
            <FolderBar folders={folders} total={projects.data?.length ?? 0} open={wanted ? '' : folder} onOpen={(name) => (setFolder(name), setSearch(''))} />
            {projects.isError && <ErrorState error={projects.error} onRetry={() => void projects.refetch()} />}
            <SimpleGrid cols={{ base: 1, sm: 2, md: 3 }} component="ul" p={0} m={0} style={{ listStyle: 'none' }}>
              {projects.isPending && [0, 1, 2].map((place) => <Skeleton key={place} component="li" h={124} />)}
              {shown.map((project) => (
                <ProjectCard key={project.id} project={project} isStarred={marks.starred.includes(project.id)} onStar={() => marks.star(project.id)} />
              ))}
            </SimpleGrid>
            {projects.isSuccess && shown.length === 0 && <NothingFound search={search} onClear={() => setSearch('')} />}
          </>
        )}
      </Container>
      {isTrashOpen && <ProjectTrash onClose={() => setIsTrashOpen(false)} />}
      {isNaming && (
        <NameDialog
          title="New project"
          label="Name"
          placeholder="Leads, guests, companies …"
          action="Create"
          onSubmit={(title) => create.mutateAsync(title)}
          onClose={() => setIsNaming(false)}
        />
      )}
    </Shell>
  );
}

/** The folders, and the one that is open. One that has become empty is gone. */
function useFolders(projects: readonly ProjectItem[]) {
  const [name, setFolder] = useLocalStorage('folder', '');
  const folders = foldersOf(projects);
  const folder = folders.some((other) => other.name === name) ? name : '';
  return { folders, folder, setFolder };
}

function NothingFound({ search, onClear }: { search: string; onClear: () => void }) {
  return (
    <Stack align="center" gap="sm" py="xl" role="status">
      <Text c="dimmed">No project or folder is called “{search.trim()}”.</Text>
      <Button variant="default" onClick={onClear}>
        Clear the search
      </Button>
    </Stack>
  );
}

interface HeaderProps {
  search: string;
  onSearch: (search: string) => void;
  onTrash: () => void;
  onSample: (sample?: Sample) => void;
  isMakingSample: boolean;
  onCreate: () => void;
}

function ProjectsHeader({ search, onSearch, onTrash, onSample, isMakingSample, onCreate }: HeaderProps) {
  return (
    <Group justify="space-between" mb="lg">
      <Title order={1} size="h2">
        Projects
      </Title>
      <div className={classes.tools}>
        <TextInput
          aria-label="Search projects"
          placeholder="Search"
          leftSection={<Icon name="search" size={16} />}
          value={search}
          onChange={(event) => onSearch(event.currentTarget.value)}
          className={classes.search}
        />
        <Tooltip label="Deleted projects">
          <ActionIcon variant="default" size={36} aria-label="Trash" onClick={onTrash}>
            <Icon name="trash" />
          </ActionIcon>
        </Tooltip>
        <SampleMenu isBusy={isMakingSample} onSample={onSample} />
        <Button leftSection={<Icon name="plus" />} onClick={onCreate}>
          New project
        </Button>
      </div>
    </Group>
  );
}

/** Makes projects, in the open folder. */
function useNewProject(folder: string) {
  const queryClient = useQueryClient();
  const [, navigate] = useLocation();
  const open = (projectId: string, state?: NavigationState) => {
    void queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
    navigate(`/projects/${projectId}`, { state });
  };
  const create = useMutation({
    mutationFn: (title: string) => data(client.POST('/v4/projects', { body: { title, ...(folder && { folderId: folder }) } })),
    onSuccess: ({ project }) => open(project.id),
  });
  const sample = useMutation({
    mutationFn: async (chosen?: Sample) => (chosen ? createSampleTable(chosen) : (await createSample()).project.id),
    onSuccess: (projectId) => {
      startFirstSteps();
      open(projectId, { runs: true });
    },
    onError: (error) => notifyError(error, 'The sample project was not created'),
  });
  return { create, sample };
}
