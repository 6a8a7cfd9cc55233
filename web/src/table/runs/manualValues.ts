import { client, data } from '../../api/client';
import { stringifyJson } from '../../api/exactNumber';
import type { TriggerBody } from '../../api/types';
import { isManual } from './estimate';

/** Counts the manual values a run would replace. Only forced runs replace any. */
export async function countManualValues(projectId: string, body: TriggerBody, columnIds: readonly string[]): Promise<number> {
  if (!body.force || body.rowIds) return 0;
  const counts = await Promise.all(
    columnIds.map(async (columnId) => {
      const filters = stringifyJson([...(body.filters ?? []), isManual(columnId)]);
      const query = { pageSize: 1, columnIds: '_trigger', filters, ...(body.search && { search: body.search }) };
      const answer = await data(client.GET('/v4/projects/{projectId}/rows', { params: { path: { projectId }, query } }));
      return answer.pagination.totalRows ?? 0;
    }),
  );
  return counts.reduce((sum, rows) => sum + rows, 0);
}
