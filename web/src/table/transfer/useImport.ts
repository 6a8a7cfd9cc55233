import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { client, data } from '../../api/client';
import { errorMessage } from '../../api/error';
import { projectQuery } from '../../api/queries';
import type { ImportResult } from '../../api/types';
import type { Table } from '../state/useTable';
import { type Preview, readPreview } from './preview';
import { type ImportOptions, type Upload, uploadFile } from './upload';

type Stage =
  | { at: 'choose'; error?: string }
  | { at: 'map'; preview: Preview }
  | { at: 'send'; sentBytes: number; bytes: number }
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
      void queryClient.invalidateQueries({ queryKey: projectQuery(projectId).queryKey });
      table.store.refresh();
      setStage({ at: 'done', result });
    } catch (error) {
      setStage({ at: 'choose', error: errorMessage(error) });
    }
  };

  return { stage, choose, send, stop: () => upload.current?.abort(), back: () => setStage({ at: 'choose' }) };
}

async function rename(projectId: string, { columnId, header }: NonNullable<ImportOptions['renamed']>): Promise<void> {
  await data(client.PATCH('/v4/projects/{projectId}/columns/{columnId}', { params: { path: { projectId, columnId } }, body: { header } }));
}
