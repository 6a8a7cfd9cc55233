import { client, data } from '../../api/client';
import type { Row } from '../../api/types';

/** A row with all that is known of its cells. */
export async function readRow(projectId: string, rowId: string): Promise<Row> {
  const answer = await data(
    client.GET('/v4/projects/{projectId}/rows/{rowId}', { params: { path: { projectId, rowId } } }),
  );
  return answer.row as Row;
}
