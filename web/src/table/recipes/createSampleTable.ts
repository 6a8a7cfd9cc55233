import { client, data } from '../../api/client';
import type { NamedColumns } from '../model/recipe';
import { columnBody } from './recipe';
import type { Sample } from './sample';

/** Makes a sample table with its rows, whole or not at all. Returns the project's id. */
export async function createSampleTable({ title, input, columns, rows }: Sample): Promise<string> {
  const { project } = await data(client.POST('/v4/projects', { body: { title } }));
  const path = { projectId: project.id };
  try {
    const first = project.columns[0]?.id ?? '_trigger';
    await data(client.PATCH('/v4/projects/{projectId}/columns/{columnId}', { params: { path: { ...path, columnId: first } }, body: { header: input } }));
    const ids: NamedColumns = { [input]: first };
    for (const column of columns) {
      const answer = await data(client.POST('/v4/projects/{projectId}/columns', { params: { path }, body: columnBody(column, ids) }));
      ids[column.header] = answer.column.id;
    }
    await data(client.POST('/v4/projects/{projectId}/rows', { params: { path }, body: { rows } }));
  } catch (error) {
    await data(client.DELETE('/v4/projects/{projectId}', { params: { path } }));
    throw error;
  }
  return project.id;
}
