import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { projectQuery, viewsQuery } from '../../api/queries';
import { emptyTrash, readTrash, type RestoreBody, restore, trashKey } from '../../api/trash';
import { ConfirmDialog } from '../../ui/ConfirmDialog';
import { ErrorState } from '../../ui/ErrorState';
import { pluralize, timeAgo } from '../../ui/format';
import type { IconName } from '../../ui/Icon';
import { notify, notifyError, notifyFixes } from '../../ui/notify';
import { SidePanel } from '../../ui/SidePanel';
import { columnIcon } from '../model/columnIcon';
import type { Table } from '../state/useTable';
import { restoredMessage } from '../../ui/restoredMessage';
import { TrashItem } from './TrashItem';

/** What was deleted in this project, with buttons to restore it. */
export function TrashPanel({ table, onClose }: { table: Table; onClose: () => void }) {
  const { trash, restoring, empty } = useTrash(table);
  const [isEmptying, setIsEmptying] = useState(false);
  const first = trash.data?.pages[0];
  const rows = trash.data?.pages.flatMap((page) => page.rows) ?? [];
  const total = first?.pagination.totalRows ?? 0;
  const count = total + (first?.columns.length ?? 0) + (first?.views.length ?? 0);
  const item = (id: string, icon: IconName, label: string, deletion: Deletion, body: RestoreBody) => (
    <TrashItem key={id} icon={icon} label={label} note={noteOf(deletion)} isBusy={restoring.isPending} onRestore={() => restoring.mutate(body)} />
  );

  return (
    <SidePanel
      title="Trash"
      icon="trash"
      onClose={onClose}
      footer={
        count > 0 && (
          <Button variant="light" color="red" onClick={() => setIsEmptying(true)}>
            Empty trash
          </Button>
        )
      }
    >
      <Stack gap="lg">
        {trash.isPending && [0, 1, 2].map((place) => <Skeleton key={place} h={48} />)}
        {trash.isError && <ErrorState error={trash.error} onRetry={() => void trash.refetch()} />}
        {trash.isSuccess && count === 0 && (
          <Text size="sm" c="dimmed">
            Nothing was deleted. Rows, columns and views that you delete appear here and can be restored.
          </Text>
        )}
        <Section title="Columns">
          {first?.columns.map((column) =>
            item(column.id, columnIcon({ ...column, dataShape: 'text' } as never), column.header, column, { columnIds: [column.id] }),
          )}
        </Section>
        <Section title="Views">
          {first?.views.map((view) => item(view.id, 'eye', view.name, view, { viewIds: [view.id] }))}
        </Section>
        <Section title={pluralize(total, 'row')}>
          {rows.map((row) => item(row.id, 'table', row.label || 'Empty row', row, { rowIds: [row.id] }))}
        </Section>
        {rows.length > 0 && (
          <Group>
            <Button size="xs" variant="default" loading={restoring.isPending} onClick={() => restoring.mutate({ rowIds: rows.map(({ id }) => id) })}>
              Restore {rows.length === total ? 'all rows' : `these ${pluralize(rows.length, 'row')}`}
            </Button>
            {trash.hasNextPage && (
              <Button size="xs" variant="subtle" loading={trash.isFetchingNextPage} onClick={() => void trash.fetchNextPage()}>
                Show more
              </Button>
            )}
          </Group>
        )}
      </Stack>
      {isEmptying && (
        <ConfirmDialog
          title="Empty the trash?"
          action="Empty trash"
          onConfirm={empty}
          onClose={() => setIsEmptying(false)}
        >
          This removes {pluralize(count, 'deleted item')} for good, for everyone. It cannot be undone.
        </ConfirmDialog>
      )}
    </SidePanel>
  );
}

function useTrash(table: Table) {
  const projectId = table.project.id;
  const queryClient = useQueryClient();
  const trash = useInfiniteQuery({
    queryKey: trashKey(projectId),
    queryFn: ({ pageParam }) => readTrash(projectId, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.pagination.nextCursor ?? undefined,
    staleTime: 0,
  });
  const reread = () =>
    Promise.all(
      [trashKey(projectId), projectQuery(projectId).queryKey, viewsQuery(projectId).queryKey].map((queryKey) =>
        queryClient.invalidateQueries({ queryKey }),
      ),
    );
  const restoring = useMutation({
    mutationFn: (body: RestoreBody) => restore(projectId, body),
    onSuccess: async (restored) => {
      notify(restoredMessage(restored));
      notifyFixes(restored.appliedFixes);
      table.store.refresh();
      await reread();
    },
    onError: (error) => notifyError(error, 'Nothing was restored'),
  });
  const empty = async () => {
    await emptyTrash(projectId);
    await reread();
  };
  return { trash, restoring, empty };
}

interface Deletion {
  deletedAt: string;
  deletedBy?: { name?: string | null } | null;
}

function noteOf({ deletedAt, deletedBy }: Deletion): string {
  return `Deleted ${timeAgo(deletedAt)}${deletedBy?.name ? ` with the key “${deletedBy.name}”` : ''}`;
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  if (!Array.isArray(children) || children.length === 0) return null;
  return (
    <Stack gap={6}>
      <Text component="h3" size="sm" fw={620} m={0}>
        {title}
      </Text>
      {children}
    </Stack>
  );
}
