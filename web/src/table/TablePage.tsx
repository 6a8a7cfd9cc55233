import { useQuery } from '@tanstack/react-query';
import { isGoneOrForbidden } from '../api/error';
import { projectQuery } from '../api/queries';
import { useNoteOpened } from '../projects/useProjectMarks';
import { Shell } from '../shell/Shell';
import { usePageTitle } from '../shell/usePageTitle';
import { ProjectError } from '../ui/ProjectError';
import { ProjectTrail } from './ProjectTrail';
import { useTable } from './state/useTable';
import { TableSkeleton } from './TableSkeleton';
import { TableView } from './TableView';
import { useDisconnectReason } from './useDisconnectReason';
import { useRunOnArrival } from './useRunOnArrival';

export default function TablePage({ projectId }: { projectId: string }) {
  const { error, refetch } = useQuery(projectQuery(projectId));
  // Unmounts the table, so that it no longer subscribes to the events of a deleted project.
  if (isGoneOrForbidden(error)) return <Unavailable projectId={projectId} error={error} onRetry={() => void refetch()} />;
  return <OpenTable projectId={projectId} />;
}

function Unavailable(props: { projectId: string; error: unknown; onRetry: () => void }) {
  usePageTitle(undefined);
  return (
    <Shell>
      <ProjectError {...props} />
    </Shell>
  );
}

function OpenTable({ projectId }: { projectId: string }) {
  const { table, error, retry } = useTable(projectId);
  usePageTitle(table?.project.title);
  useNoteOpened(projectId);
  useRunOnArrival(table);
  useDisconnectReason(projectId, table?.isConnected);

  if (table) return <TableView table={table} />;
  return (
    <Shell trail={error ? undefined : <ProjectTrail projectId={projectId} title="" />}>
      {error ? (
        <ProjectError projectId={projectId} error={error} onRetry={retry} />
      ) : (
        <TableSkeleton />
      )}
    </Shell>
  );
}
