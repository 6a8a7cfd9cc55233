import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { client, data } from '../../api/client';
import { ApiError } from '../../api/error';
import { projectQuery, providersQuery } from '../../api/queries';
import type { ColumnCreate, Provider } from '../../api/types';
import { tickFirstStep } from '../../ui/firstSteps';
import { notify } from '../../ui/notify';
import { newDraft, toBody } from '../columns/draft';
import type { NamedColumns, Recipe } from '../model/recipe';
import { columnBody, withoutTarget } from './recipe';

/** Adds the columns of a recipe, all or none. */
export function useAddRecipe(projectId: string, recipe: Recipe) {
  const queryClient = useQueryClient();
  const providers = useQuery(providersQuery);
  return useMutation({
    mutationFn: async (inputs: NamedColumns): Promise<string[]> => {
      const ids: NamedColumns = { ...inputs };
      const made: string[] = [];
      try {
        for (const column of recipe.columns) {
          const body = withProviders(columnBody(column, ids), providers.data ?? []);
          const answer = await addColumn(projectId, body);
          ids[column.header] = answer.column.id;
          made.push(answer.column.id);
        }
      } catch (error) {
        for (const columnId of made.reverse()) {
          await data(client.DELETE('/v4/projects/{projectId}/columns/{columnId}', { params: { path: { projectId, columnId } } }));
        }
        throw error;
      } finally {
        await queryClient.invalidateQueries({ queryKey: projectQuery(projectId).queryKey });
      }
      tickFirstStep('column');
      return made;
    },
  });
}

/** Adds a column. One that would write to a table that is not there, or not from here, is added without it. */
async function addColumn(projectId: string, body: ColumnCreate) {
  const add = (column: ColumnCreate) => data(client.POST('/v4/projects/{projectId}/columns', { params: { path: { projectId } }, body: column }));
  const bare = withoutTarget(body);
  if (!bare) return add(body);
  return add(body).catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    notify(`“${body.header}” cannot write to the table that the recipe names. Choose one in the column’s settings.`);
    return add(bare);
  });
}

/** A column that asks providers and names none gets those that the team has set up. */
function withProviders(body: ColumnCreate, providers: readonly Provider[]): ColumnCreate {
  // An AI column asks no list of providers.
  if (body.templateId === 'ai') return body;
  const start = toBody(newDraft(body.templateId, '', providers)).taskConfig as TaskSettings | undefined;
  const task = start?.taskType;
  const fresh = task && start[task];
  if (!task || !isAsking(fresh)) return body;
  const given = (body.taskConfig as TaskSettings | undefined)?.[task];
  if (isAsking(given) && given.providers.length) return body;
  const settings = { ...(typeof given === 'object' && given), providers: fresh.providers };
  return { ...body, taskConfig: { ...body.taskConfig, [task]: settings } as ColumnCreate['taskConfig'] };
}

interface TaskSettings {
  taskType?: string;
  [task: string]: unknown;
}

function isAsking(settings: unknown): settings is { providers: unknown[] } {
  return typeof settings === 'object' && settings !== null && Array.isArray((settings as { providers?: unknown }).providers);
}
