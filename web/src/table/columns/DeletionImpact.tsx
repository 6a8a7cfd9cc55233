import { List, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { client, data } from '../../api/client';
import { stringifyJson } from '../../api/exactNumber';
import { useRestoreNote } from '../../api/trash';
import type { Column, View } from '../../api/types';
import { pluralize } from '../../ui/format';
import type { Table } from '../state/useTable';

/** Lists what deleting a column would remove. */
export function DeletionImpact({ table, column }: { table: Table; column: Column }) {
  const values = useQuery({ queryKey: ['values', column.id], queryFn: () => countValues(table.project.id, column.id), staleTime: 0 });
  const followers = table.columns.filter(({ id, dependencies }) => id !== column.id && dependencies.some(({ columnId }) => columnId === column.id));
  const views = table.views.views.filter((view) => isUsed(view, column.id));
  return (
    <Stack gap="xs">
      <div>This is deleted for everyone:</div>
      <List size="sm">
        <List.Item>{values.data === undefined ? 'its values in every row' : pluralize(values.data, 'value')}</List.Item>
        {followers.length > 0 && (
          <List.Item>the values {names(followers.map(({ header }) => header))} {followers.length === 1 ? 'takes' : 'take'} from it</List.Item>
        )}
        {views.length > 0 && <List.Item>the filters and sorting by it in {names(views.map(({ name }) => name))}</List.Item>}
      </List>
      <div>{useRestoreNote()}</div>
    </Stack>
  );
}

async function countValues(projectId: string, columnId: string): Promise<number> {
  const filters = stringifyJson([{ columnId, operator: 'isNotEmpty' }]);
  const query = { pageSize: 1, columnIds: columnId, filters };
  const answer = await data(client.GET('/v4/projects/{projectId}/rows', { params: { path: { projectId }, query } }));
  return answer.pagination.totalRows ?? 0;
}

function isUsed({ filters, sorting }: View, columnId: string): boolean {
  return stringifyJson([filters, sorting]).includes(stringifyJson(columnId));
}

function names(list: readonly string[]): string {
  const quoted = list.slice(0, 5).map((name) => `“${name}”`);
  const rest = list.length - quoted.length;
  return [...quoted, ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
}
