import { client, data } from '../../api/client';
import type { TriggerBody } from '../../api/types';
import { isManual } from './estimate';

/** How many values that people wrote a run would replace: only one from the start replaces any. */
export async function countManualValues(projectId: string, body: TriggerBody, columnIds: readonly string[]): Promise<number> {
  if (!body.force || body.rowIds) return 0;
  const counts = await Promise.all(
    columnIds.map(async (columnId) => {
      const filters = JSON.stringify([...(body.filters ?? []), isManual(columnId)]);
      const query = { pageSize: 1, columnIds: '_trigger', filters, ...(body.search && { search: body.search }) };
      const answer = await data(client.GET('/v4/projects/{projectId}/rows', { params: { path: { projectId }, query } }));
      return answer.pagination.totalRows ?? 0;
    }),
  );
  return counts.reduce((sum, rows) => sum + rows, 0);
}
