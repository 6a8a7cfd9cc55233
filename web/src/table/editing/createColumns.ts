import { client, data } from '../../api/client';
import type { Destination } from '../rows/pasteBlock';

/** Creates and renames the columns a paste needs. Returns the ids of the target columns in order. */
export async function createColumns(projectId: string, goals: readonly Destination[]): Promise<string[]> {
  const ids: string[] = [];
  for (const goal of goals) {
    const { header } = goal;
    if (goal.columnId === undefined) {
      const body = { templateId: 'manual', header } as const;
      const { column } = await data(client.POST('/v4/projects/{projectId}/columns', { params: { path: { projectId } }, body }));
      ids.push(column.id);
      continue;
    }
    const path = { projectId, columnId: goal.columnId };
    if (goal.isRenamed) await data(client.PATCH('/v4/projects/{projectId}/columns/{columnId}', { params: { path }, body: { header } }));
    ids.push(goal.columnId);
  }
  return ids;
}
