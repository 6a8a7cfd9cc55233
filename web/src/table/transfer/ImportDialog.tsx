import { Alert, Button, FileButton, Group, Modal, Progress, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type DragEvent, useEffect, useRef, useState } from 'react';
import { client, data } from '../../api/client';
import { errorMessage } from '../../api/error';
import { projectQuery } from '../../api/queries';
import type { ImportResult } from '../../api/types';
import { pluralize } from '../../ui/format';
import { Icon } from '../../ui/Icon';
import { unnamedInput } from '../model/inputColumn';
import { isFiltered } from '../rows/rowQuery';
import type { Table } from '../state/useTable';
import classes from './Import.module.css';
import { ImportDone } from './ImportDone';
import { ImportMapping } from './ImportMapping';
import { type Preview, readPreview } from './preview';
import { type ImportOptions, type Upload, uploadFile } from './upload';

interface Props {
  table: Table;
  file?: File;
  onClose: () => void;
}

type Stage =
  | { at: 'choose'; error?: string }
  | { at: 'map'; preview: Preview }
  | { at: 'send'; sentBytes: number; bytes: number }
  | { at: 'done'; result: ImportResult };

/** Import dialog: choose a file, map its columns, upload, see rejected rows. */
export default function ImportDialog({ table, file, onClose }: Props) {
  const [stage, setStage] = useState<Stage>({ at: 'choose' });
  const upload = useRef<Upload>(undefined);
  const queryClient = useQueryClient();

  const choose = async (chosen: File | null | undefined, encoding?: string) => {
    if (!chosen) return;
    try {
      setStage({ at: 'map', preview: await readPreview(chosen, encoding) });
    } catch (error) {
      setStage({ at: 'choose', error: errorMessage(error) });
    }
  };

  useEffect(() => {
    void choose(file);
    // Only the file it was opened with.
  }, []);

  const send = async (preview: Preview, options: ImportOptions) => {
    const show = (sentBytes: number, bytes: number) => setStage({ at: 'send', sentBytes, bytes });
    show(0, preview.file.size);
    try {
      if (options.renamed) await rename(table.project.id, options.renamed);
      upload.current = uploadFile(table.project.id, preview, options, show);
      const result = await upload.current.done;
      void queryClient.invalidateQueries({ queryKey: projectQuery(table.project.id).queryKey });
      table.store.refresh();
      setStage({ at: 'done', result });
    } catch (error) {
      setStage({ at: 'choose', error: errorMessage(error) });
    }
  };

  const isSending = stage.at === 'send';
  return (
    <Modal
      opened
      onClose={() => !isSending && onClose()}
      title={stage.at === 'map' ? `Import ${stage.preview.file.name}` : 'Import rows'}
      size={stage.at === 'map' ? 'xl' : 'lg'}
      closeOnClickOutside={false}
      withCloseButton={!isSending}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {stage.at === 'choose' && <Choose error={stage.error} onChoose={choose} />}
      {stage.at === 'map' && (
        <ImportMapping
          preview={stage.preview}
          columns={table.columns}
          unnamed={table.total === 0 && !isFiltered(table.query) ? unnamedInput(table.columns) : undefined}
          onEncoding={(encoding) => void choose(stage.preview.file, encoding)}
          onImport={(options) => void send(stage.preview, options)}
          onBack={() => setStage({ at: 'choose' })}
        />
      )}
      {isSending && (
        <Stack>
          <Text size="sm">{stage.sentBytes < stage.bytes ? 'Uploading the file' : 'Saving the last rows'}</Text>
          <Progress value={(stage.sentBytes / Math.max(1, stage.bytes)) * 100} animated aria-label="Upload progress" />
          <Group justify="space-between">
            <Text size="sm" c="dimmed">
              {megabytes(stage.sentBytes)} of {megabytes(stage.bytes)} · {pluralize(table.total ?? 0, 'row')} in the table
            </Text>
            <Button variant="default" onClick={() => upload.current?.abort()}>
              Stop
            </Button>
          </Group>
        </Stack>
      )}
      {stage.at === 'done' && <ImportDone result={stage.result} onClose={onClose} />}
    </Modal>
  );
}

async function rename(projectId: string, { columnId, header }: NonNullable<ImportOptions['renamed']>): Promise<void> {
  await data(client.PATCH('/v4/projects/{projectId}/columns/{columnId}', { params: { path: { projectId, columnId } }, body: { header } }));
}

function Choose({ error, onChoose }: { error?: string; onChoose: (file: File | null | undefined) => Promise<void> }) {
  const [isOver, setIsOver] = useState(false);
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    event.stopPropagation();
    setIsOver(false);
    void onChoose(event.dataTransfer.files[0]);
  };
  return (
    <Stack>
      {error && (
        <Alert color="red" title="The import failed">
          {error}
        </Alert>
      )}
      <div
        className={classes.drop}
        data-over={isOver || undefined}
        onDragOver={(event) => {
          event.preventDefault();
          setIsOver(true);
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={onDrop}
      >
        <Icon name="upload" size={28} />
        <Text fw={600}>Drop a file here</Text>
        <Text size="sm" c="dimmed">
          CSV (separated by comma, semicolon or tab) or JSON Lines, of any size and encoding.
        </Text>
        <FileButton onChange={(chosen) => void onChoose(chosen)} accept=".csv,.tsv,.txt,.jsonl,.ndjson,text/csv">
          {(props) => (
            <Button {...props} variant="default" data-autofocus>
              Choose a file
            </Button>
          )}
        </FileButton>
      </div>
    </Stack>
  );
}

function megabytes(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
