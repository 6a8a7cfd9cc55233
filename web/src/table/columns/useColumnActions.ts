import { useQueryClient } from '@tanstack/react-query';
import { client, data } from '../../api/client';
import { isWorthShowing } from '../../api/fixes';
import { projectQuery, viewsQuery } from '../../api/queries';
import type { Column, ColumnCreate, ColumnPatch, Format, Project } from '../../api/types';
import { notifyError, notifyFixes } from '../../ui/notify';
import { wholeFormat } from '../formats/wholeFormat';
import { templateOf } from '../model/templates';
import { offerRestore } from '../../ui/offerRestore';
import type { PanelTarget } from '../state/panelTarget';
import type { Table } from '../state/useTable';
import { withHeaders } from '../template/tokens';
import { withHidden } from '../views/viewState';

export interface ColumnActions {
  /** Indices among the shown columns. */
  move: (from: number, to: number) => void;
  /** Puts a column at a place among all columns. */
  reorder: (columnId: string, order: number) => void;
  open: (columnId: string) => void;
  /** Shows how many rows have each value. */
  group: (columnId: string) => void;
  /** Shows past runs, with what each cost. */
  showRuns: () => void;
  rename: (columnId: string, header: string) => Promise<void>;
  /** Null takes the type away. */
  setFormat: (columnId: string, format: Format | null) => Promise<void>;
  hide: (columnId: string) => void;
  remove: (columnId: string) => Promise<void>;
  duplicate: (columnId: string) => Promise<void>;
}

export function useColumnActions(table: Table, open: (target: PanelTarget) => void): ColumnActions {
  const queryClient = useQueryClient();
  const projectId = table.project.id;
  const key = projectQuery(projectId).queryKey;
  const reread = () => queryClient.invalidateQueries({ queryKey: key });
  const rereadAll = () => Promise.all([reread(), queryClient.invalidateQueries({ queryKey: viewsQuery(projectId).queryKey })]);
  const tellOf = (fixes: readonly string[]) => notifyFixes(fixes.filter(isWorthShowing).map((fix) => withHeaders(fix, table.columns)));

  const patch = async (columnId: string, body: ColumnPatch) => {
    const answer = await data(
      client.PATCH('/v4/projects/{projectId}/columns/{columnId}', { params: { path: { projectId, columnId } }, body }),
    );
    tellOf(answer.appliedFixes);
    await reread();
  };

  const reorder = (columnId: string, order: number) => {
    queryClient.setQueryData(key, (project: Project | undefined) => project && { ...project, columns: moved(project.columns, columnId, order) });
    patch(columnId, { order }).catch((error: unknown) => {
      void reread();
      notifyError(error, 'The column was not moved');
    });
  };

  return {
    open: (columnId) => open({ kind: 'column', columnId }),
    group: (columnId) => open({ kind: 'groups', columnId }),
    showRuns: () => open({ kind: 'runs' }),
    rename: (columnId, header) => patch(columnId, { header }),
    setFormat: async (columnId, format) => {
      await patch(columnId, { format: wholeFormat(format) });
      // Another type may sort and filter otherwise.
      table.store.refresh();
    },
    hide: (columnId) => table.views.change(withHidden(table.views.state, columnId, true)),
    move: (from, to) => {
      const column = table.shownColumns[from];
      const place = table.shownColumns[to];
      if (column && place) reorder(column.id, table.columns.indexOf(place));
    },
    reorder,
    remove: async (columnId) => {
      const answer = await data(
        client.DELETE('/v4/projects/{projectId}/columns/{columnId}', { params: { path: { projectId, columnId } } }),
      );
      tellOf(answer.appliedFixes);
      const header = table.columns.find(({ id }) => id === columnId)?.header ?? '';
      offerRestore(projectId, `Column “${header}” deleted.`, { columnIds: [columnId], rowIds: [], viewIds: [] }, async () => {
        table.store.refresh();
        await rereadAll();
      });
      await rereadAll();
    },
    duplicate: async (columnId) => {
      const column = table.columns.find((candidate) => candidate.id === columnId);
      if (!column) return;
      const answer = await data(
        client.POST('/v4/projects/{projectId}/columns', {
          params: { path: { projectId } },
          body: copyOf(column),
        }),
      );
      await reread();
      tellOf(answer.appliedFixes);
      open({ kind: 'column', columnId: answer.column.id });
    },
  };
}

function copyOf(column: Column): ColumnCreate {
  return {
    templateId: templateOf(column),
    header: `${column.header} copy`,
    order: column.order + 1,
    dependencies: column.dependencies,
    ...(column.format && { format: column.format }),
    ...(column.aiConfig && { aiConfig: column.aiConfig }),
    ...(column.taskConfig && { taskConfig: column.taskConfig as ColumnCreate['taskConfig'] }),
    ...(column.apiConfig && { apiConfig: column.apiConfig }),
    ...(column.referenceConfig && { referenceConfig: column.referenceConfig }),
    runCondition: column.runCondition,
  };
}

function moved<C extends Column>(columns: readonly C[], columnId: string, order: number): C[] {
  const column = columns.find((candidate) => candidate.id === columnId);
  const others = columns.filter((candidate) => candidate.id !== columnId);
  return column ? [...others.slice(0, order), column, ...others.slice(order)] : [...columns];
}
