import { client, data } from '../../api/client';
import type { FilterNode, TriggerBody } from '../../api/types';

const isManual = (columnId: string): FilterNode => ({ columnId, operator: 'isManual' });

/** How many values that people wrote a run would replace: only one from the start replaces any. */
export async function countByHand(projectId: string, body: TriggerBody, columnIds: readonly string[]): Promise<number> {
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

/** The same run without what people wrote. Of several columns each row would have to be left out of some only. */
export function withoutByHand(body: TriggerBody): TriggerBody | undefined {
  const [columnId, ...others] = body.columnIds ?? [];
  if (!columnId || others.length > 0) return undefined;
  const kept: FilterNode = { conjunction: 'not', filters: [isManual(columnId)] };
  return { ...body, filters: [...(body.filters ?? []), kept] as TriggerBody['filters'] };
}
