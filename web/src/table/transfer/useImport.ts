import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { client, data } from '../../api/client';
import { errorMessage } from '../../api/error';
import { withoutLimitNames } from '../../api/fieldMessages';
import { type ImportJob, isOpen } from '../../api/importJob';
import { importsQuery, readImport } from '../../api/imports';
import { projectQuery } from '../../api/queries';
import type { ImportResult } from '../../api/types';
import { tickFirstStep } from '../../ui/firstSteps';
import { pluralize } from '../../ui/format';
import type { Table } from '../state/useTable';
import { type Preview, readPreview } from './preview';
import { type ImportOptions, type Upload, uploadFile } from './upload';

type Stage =
  | { at: 'choose'; error?: string }
  | { at: 'map'; preview: Preview }
  | { at: 'send'; sentBytes: number; bytes: number }
  | { at: 'run'; jobId: string }
  | { at: 'done'; result: ImportResult };

/** An import step by step. A failure leads back to choosing a file. */
export function useImport(table: Table) {
  const [stage, setStage] = useState<Stage>({ at: 'choose' });
  const upload = useRef<Upload>(undefined);
  const queryClient = useQueryClient();
  const projectId = table.project.id;

  const choose = async (chosen: File | null | undefined, encoding?: string) => {
    if (!chosen) return;
    try {
      setStage({ at: 'map', preview: await readPreview(chosen, encoding) });
    } catch (error) {
      setStage({ at: 'choose', error: errorMessage(error) });
    }
  };

  const send = async (preview: Preview, options: ImportOptions) => {
    const show = (sentBytes: number, bytes: number) => setStage({ at: 'send', sentBytes, bytes });
    show(0, preview.file.size);
    try {
      if (options.renamed) await rename(projectId, options.renamed);
      upload.current = uploadFile(projectId, preview, options, show);
      const result = await upload.current.done;
      tickFirstStep('import');
      if (result.job) {
        void queryClient.invalidateQueries({ queryKey: importsQuery(projectId).queryKey });
        setStage({ at: 'run', jobId: result.job.id });
        return;
      }
      refresh();
      setStage({ at: 'done', result });
    } catch (error) {
      setStage({ at: 'choose', error: errorMessage(error) });
    }
  };

  const refresh = () => {
    void queryClient.invalidateQueries({ queryKey: projectQuery(projectId).queryKey });
    table.store.refresh();
  };

  /** Shows an import in the background: its progress, or its result once it has ended. */
  const show = async (jobId: string) => {
    try {
      const { job, result } = await readImport(projectId, jobId);
      if (isOpen(job)) return setStage({ at: 'run', jobId });
      refresh();
      if (job.error || !result) setStage({ at: 'choose', error: failure(job) });
      else setStage({ at: 'done', result });
    } catch (error) {
      setStage({ at: 'choose', error: errorMessage(error) });
    }
  };

  return { stage, choose, send, stop: () => upload.current?.abort(), back: () => setStage({ at: 'choose' }), show };
}

function failure({ error, importedCount }: ImportJob): string {
  const kept = importedCount > 0 ? ` ${pluralize(importedCount, 'row')} imported before that are kept.` : '';
  return `${withoutLimitNames(error?.error ?? 'The reason is not known')}.${kept}`;
}

async function rename(projectId: string, { columnId, ...body }: NonNullable<ImportOptions['renamed']>): Promise<void> {
  await data(client.PATCH('/v4/projects/{projectId}/columns/{columnId}', { params: { path: { projectId, columnId } }, body }));
}
