import { client, data } from '../../api/client';
import { queryParams } from '../rows/rowQuery';
import type { Table } from '../state/useTable';

export interface Step {
  /** The cell to start at; undefined for before the first or behind the last one. */
  from: { rowIndex: number; columnId: string } | undefined;
  direction: 'next' | 'previous';
  /** Whether that cell may be the one that is found. */
  includeStart: boolean;
}

/** The next cell of the list that contains a text, and how many there are. */
export function findCell({ project, columns, shownColumns, query }: Table, text: string, step: Step, signal: AbortSignal) {
  const { from } = step;
  const params = {
    text,
    ...queryParams(query),
    ...(shownColumns.length < columns.length && { columnIds: shownColumns.map(({ id }) => id).join(',') }),
    ...(from && { fromRow: from.rowIndex, fromColumnId: from.columnId, includeStart: step.includeStart }),
    direction: step.direction,
  };
  return data(client.GET('/v4/projects/{projectId}/find', { params: { path: { projectId: project.id }, query: params }, signal }));
}

export type Found = Awaited<ReturnType<typeof findCell>>;
