import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { client, data } from '../../api/client';
import { statusQuery } from '../../api/queries';
import type { Column, TriggerBody } from '../../api/types';
import { isProcessed } from '../../api/types';
import { tickFirstStep } from '../../ui/firstSteps';
import { pluralize } from '../../ui/format';
import { notify, notifyError } from '../../ui/notify';
import { type RunEstimate, estimateRun, UNCONFIRMED_CELLS_MAX } from './estimate';
import { countManualValues } from './manualValues';
import { notifyRunning } from './runningNotification';

/** What a run would do. */
export interface MeasuredRun extends RunEstimate {
  /** Manual values that it would replace, as far as known. */
  manualCount: number;
}

/** A run that waits for confirmation. */
export interface RunQuestion {
  /** Each question has another number. */
  number: number;
  body: TriggerBody;
  /** If it is known already. */
  measured?: MeasuredRun;
}

export interface Runs {
  /** Runs cells. Large runs ask for confirmation first. */
  run: (body: TriggerBody) => Promise<void>;
  /** Asks what to run, beginning with this. */
  choose: (body?: TriggerBody) => void;
  measure: (body: TriggerBody) => Promise<MeasuredRun>;
  stop: (rowIds?: string[]) => Promise<void>;
  isStopping: boolean;
  /** Whether a run is being counted or started, for longer than a moment. */
  isStarting: boolean;
  question: RunQuestion | undefined;
  /** Answers the question: runs this body, or nothing. */
  answer: (body?: TriggerBody) => Promise<void>;
}

/** Whatever takes longer shows that it works. */
const MOMENT_MILLISECONDS = 100;

export function useRuns(projectId: string, columns: readonly Column[]): Runs {
  const [isStarting, setIsStarting] = useState(false);
  const [question, setQuestion] = useState<RunQuestion>();
  const questions = useRef(0);
  const current = useRef(columns);
  current.current = columns;
  const params = { path: { projectId } };
  const post = (body: TriggerBody) => data(client.POST('/v4/projects/{projectId}/trigger', { params, body }));
  const trigger = async (body: TriggerBody) => {
    const { triggeredCount } = await post(body);
    if (triggeredCount > 0) tickFirstStep('run');
    return triggeredCount;
  };
  const columnIdsOf = (body: TriggerBody) => body.columnIds ?? current.current.filter(isProcessed).map((column) => column.id);

  const measure = async (body: TriggerBody): Promise<MeasuredRun> => {
    const columnIds = columnIdsOf(body);
    const [measured, manualCount] = await Promise.all([
      estimateRun(body, columnIds, (part) => post({ ...part, dryRun: true })),
      countManualValues(projectId, body, columnIds),
    ]);
    return { ...measured, manualCount };
  };

  const choose = (body: TriggerBody = {}, measured?: MeasuredRun) => {
    questions.current += 1;
    setQuestion({ number: questions.current, body, ...(measured && { measured }) });
  };

  const run = async (body: TriggerBody) => {
    const timer = setTimeout(() => setIsStarting(true), MOMENT_MILLISECONDS);
    try {
      if (body.rowIds?.length === 1 && columnIdsOf(body).length === 1) {
        if ((await trigger(body)) === 0) notify(nothingRan(body));
        return;
      }
      const measured = await measure(body);
      if (measured.cells > UNCONFIRMED_CELLS_MAX || measured.manualCount > 0) return choose(body, measured);
      if (measured.cells === 0 || (await trigger(body)) === 0) return notify(nothingRan(body));
      notifyRunning(`Running ${measured.isAtMost ? 'up to ' : ''}${pluralize(measured.cells, 'cell')}.`);
    } catch (error) {
      notifyError(error, 'The run did not start');
    } finally {
      clearTimeout(timer);
      setIsStarting(false);
    }
  };

  const answer = async (body?: TriggerBody) => {
    setQuestion(undefined);
    if (!body) return;
    try {
      // A run that was confirmed by its estimate is compared with it later.
      if ((await trigger({ ...body, estimate: true })) === 0) notify(nothingRan(body));
    } catch (error) {
      notifyError(error, 'The run did not start');
    }
  };

  return { run, choose, measure, ...useStop(projectId), isStarting, question, answer };
}

function useStop(projectId: string): Pick<Runs, 'stop' | 'isStopping'> {
  const queryClient = useQueryClient();
  const [isStopping, setIsStopping] = useState(false);
  const params = { path: { projectId } };
  const stop = async (rowIds?: string[]) => {
    setIsStopping(true);
    try {
      const body = rowIds ? { rowIds } : {};
      const { stoppedCells } = await data(client.POST('/v4/projects/{projectId}/stop', { params, body }));
      // After stopping everything, the progress strip reports it.
      if (stoppedCells === 0) notify('Nothing was running.');
      else if (rowIds) notify(`${pluralize(stoppedCells, 'cell')} stopped.`);
      await queryClient.invalidateQueries({ queryKey: statusQuery(projectId).queryKey });
    } catch (error) {
      notifyError(error, 'The run was not stopped');
    } finally {
      setIsStopping(false);
    }
  };
  return { stop, isStopping };
}

/** Why a run has no cells. */
export function nothingRan(body: TriggerBody): string {
  if (body.statuses?.includes('error')) return 'No cells have failed.';
  if (body.statuses?.includes('completed')) return 'No cells are out of date.';
  if (body.force) return 'There is nothing to run.';
  return 'All cells are done. To run finished cells again, choose “Rerun all cells”.';
}
