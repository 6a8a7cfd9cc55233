import { Alert, Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { statusQuery } from '../../api/queries';
import type { Column } from '../../api/types';
import { pluralize } from '../../ui/format';
import type { Table } from '../state/useTable';

/** The number of a column's cells that are out of date. */
export function useStaleCount(projectId: string, columnId: string): number {
  const status = useQuery(statusQuery(projectId));
  return status.data?.columns[columnId]?.stale ?? 0;
}

/** Offers to run the cells that are out of date. */
export function StaleNote({ table, column }: { table: Table; column: Column }) {
  const count = useStaleCount(table.project.id, column.id);
  if (count === 0) return null;
  return (
    <Alert color="yellow" role="status">
      <Group justify="space-between" wrap="nowrap" gap="sm">
        <span>
          {pluralize(count, 'cell')} {count === 1 ? 'is' : 'are'} out of date.
        </span>
        <Button
          size="compact-sm"
          variant="light"
          style={{ flexShrink: 0 }}
          onClick={() => void table.runs.run({ columnIds: [column.id], statuses: ['completed'] })}
        >
          {count === 1 ? 'Run it' : 'Run them'}
        </Button>
      </Group>
    </Alert>
  );
}
