import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client, data } from '../../api/client';
import { statusQuery } from '../../api/queries';
import type { TriggerBody } from '../../api/types';
import { counted } from '../../ui/format';
import { tell, tellError } from '../../ui/notify';

export interface Runs {
  run: (body: TriggerBody) => Promise<void>;
  stop: (rowIds?: string[]) => Promise<void>;
  isStopping: boolean;
}

export function useRuns(projectId: string): Runs {
  const queryClient = useQueryClient();
  const [isStopping, setIsStopping] = useState(false);
  const params = { path: { projectId } };

  const run = async (body: TriggerBody) => {
    try {
      const { triggeredCount } = await data(client.POST('/v4/projects/{projectId}/trigger', { params, body }));
      if (triggeredCount === 0) tell(nothingRan(body));
    } catch (error) {
      tellError(error, 'Nothing was run');
    }
  };

  const stop = async (rowIds?: string[]) => {
    setIsStopping(true);
    try {
      const body = rowIds ? { rowIds } : {};
      const { stoppedCells } = await data(client.POST('/v4/projects/{projectId}/stop', { params, body }));
      tell(stoppedCells > 0 ? `${counted(stoppedCells, 'cell')} stopped.` : 'Nothing was running.');
      await queryClient.invalidateQueries({ queryKey: statusQuery(projectId).queryKey });
    } catch (error) {
      tellError(error, 'It was not stopped');
    } finally {
      setIsStopping(false);
    }
  };

  return { run, stop, isStopping };
}

function nothingRan(body: TriggerBody): string {
  if (body.statuses?.includes('error')) return 'No cell has failed.';
  if (body.force) return 'There was nothing to run.';
  return 'Everything is done already. To run finished cells again, choose “Run again from the start”.';
}
