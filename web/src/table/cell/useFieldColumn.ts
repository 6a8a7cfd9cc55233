import { useQueryClient } from '@tanstack/react-query';
import { client, data } from '../../api/client';
import { projectQuery } from '../../api/queries';
import type { Column } from '../../api/types';
import { notify, notifyError } from '../../ui/notify';
import { notifyAction } from '../../ui/notifyAction';
import type { Table } from '../state/useTable';
import { fieldHeader } from './fieldHeader';

/** Creates a column for a field of another column's JSON, next to it. */
export function useFieldColumn(table: Table, source: Column): (path: string) => void {
  const queryClient = useQueryClient();
  const projectId = table.project.id;
  const reread = () => queryClient.invalidateQueries({ queryKey: projectQuery(projectId).queryKey });

  const remove = async (columnId: string) => {
    await data(client.DELETE('/v4/projects/{projectId}/columns/{columnId}', { params: { path: { projectId, columnId } } }));
    await reread();
  };
  const make = async (path: string) => {
    const twin = table.columns.find(({ referenceConfig }) => referenceConfig?.columnId === source.id && referenceConfig.path === path);
    if (twin) return notify(`The column “${twin.header}” already shows this field.`);
    const referenceConfig = { columnId: source.id, path };
    const body = { templateId: 'reference' as const, header: fieldHeader(path), order: source.order + 1, referenceConfig };
    const { column } = await data(client.POST('/v4/projects/{projectId}/columns', { params: { path: { projectId } }, body }));
    await reread();
    const undo = () => void remove(column.id).catch((error: unknown) => notifyError(error, 'The column was not removed'));
    notifyAction(`The column “${column.header}” was created.`, 'Undo', undo);
  };
  return (path) => void make(path).catch((error: unknown) => notifyError(error, 'The column was not created'));
}
