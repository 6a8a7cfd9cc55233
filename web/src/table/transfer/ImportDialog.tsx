import { Alert, Button, FileButton, Group, Modal, Progress, Stack, Text } from '@mantine/core';
import { type DragEvent, useEffect, useState } from 'react';
import { pluralize } from '../../ui/format';
import { HelpLink } from '../../ui/HelpLink';
import { Icon } from '../../ui/Icon';
import { unnamedInput } from '../model/inputColumn';
import { isFiltered } from '../rows/rowQuery';
import type { Table } from '../state/useTable';
import classes from './Import.module.css';
import { ImportDone } from './ImportDone';
import { ImportMapping } from './ImportMapping';
import { ImportRunning } from './ImportRunning';
import { useImport } from './useImport';

interface Props {
  table: Table;
  file?: File;
  /** An import that runs in the background, or has ended. */
  jobId?: string;
  onClose: () => void;
}

/** Import dialog: choose a file, map its columns, upload, see rejected rows. */
export default function ImportDialog({ table, file, jobId, onClose }: Props) {
  const { stage, choose, send, stop, back, show } = useImport(table);
  useEffect(() => {
    if (jobId === undefined) void choose(file);
    else void show(jobId);
    // Only on opening: later files come from the dialog itself.
  }, []);

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
          onBack={back}
        />
      )}
      {stage.at === 'send' && <Sending sentBytes={stage.sentBytes} bytes={stage.bytes} rowCount={table.total ?? 0} onStop={stop} />}
      {stage.at === 'run' && <ImportRunning projectId={table.project.id} jobId={stage.jobId} onEnded={() => void show(stage.jobId)} onClose={onClose} />}
      {stage.at === 'done' && <ImportDone result={stage.result} onClose={onClose} />}
    </Modal>
  );
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
        <HelpLink text="Columns are found by their headers, and rows can be matched instead of added twice." guide="imports" />
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

function Sending({ sentBytes, bytes, rowCount, onStop }: { sentBytes: number; bytes: number; rowCount: number; onStop: () => void }) {
  return (
    <Stack>
      <Text size="sm">{sentBytes < bytes ? 'Uploading the file' : 'Saving the last rows'}</Text>
      <Progress value={(sentBytes / Math.max(1, bytes)) * 100} animated aria-label="Upload progress" />
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {megabytes(sentBytes)} of {megabytes(bytes)} · {pluralize(rowCount, 'row')} in the table
        </Text>
        <Button variant="default" onClick={onStop}>
          Stop
        </Button>
      </Group>
    </Stack>
  );
}

function megabytes(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
