import { Center, Loader } from '@mantine/core';
import { Shell } from '../app/Shell';
import { usePageTitle } from '../app/usePageTitle';
import { ProjectError } from '../ui/ProjectError';
import { ProjectTrail } from './ProjectTrail';
import { TableView } from './TableView';
import { useRunOnArrival } from './useRunOnArrival';
import { useTable } from './useTable';

export default function TablePage({ projectId }: { projectId: string }) {
  const { table, error, retry } = useTable(projectId);
  usePageTitle(table?.project.title);
  useRunOnArrival(table);

  if (table) return <TableView table={table} />;
  return (
    <Shell trail={error ? undefined : <ProjectTrail projectId={projectId} title="" />}>
      {error ? (
        <ProjectError projectId={projectId} error={error} onRetry={retry} />
      ) : (
        <Center h="100%" role="status" aria-label="Loading the table">
          <Loader size="sm" />
        </Center>
      )}
    </Shell>
  );
}
