import { client, data } from '../../api/client';
import type { Row } from '../../api/types';

/** Reads one row with all details of its cells. */
export async function readRow(projectId: string, rowId: string): Promise<Row> {
  const answer = await data(
    client.GET('/v4/projects/{projectId}/rows/{rowId}', { params: { path: { projectId, rowId } } }),
  );
  return answer.row as Row;
}
