import { Alert, Button, Group, Modal, Progress, Stack, Switch, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '../../api/error';
import { projectQuery } from '../../api/queries';
import { formatNumber, pluralize } from '../../ui/format';
import { notify } from '../../ui/notify';
import { type Block, destinations, guessHeader, NEW_COLUMNS_MAX, type PasteColumn, widthOf } from '../rows/pasteBlock';
import { isFiltered } from '../rows/rowQuery';
import type { Table } from '../state/useTable';
import { createColumns } from './createColumns';
import { pasteInto } from './pasteInto';
import { PastePreview } from './PastePreview';

export interface PasteOffer {
  block: Block;
  columns: PasteColumn[];
  firstRow: number;
  firstColumn: number;
  isEmptyTable: boolean;
  /** Append after the last row, also if rows were added since. */
  isAtEnd: boolean;
}

interface Props {
  table: Table;
  offer: PasteOffer;
  onClose: () => void;
}

/** Asks whether the first line has column names, and whether to create the columns that are missing. */
export default function PasteDialog({ table, offer, onClose }: Props) {
  const { block } = offer;
  const { hasHeader, setHasHeader, goals, body, newCount, percent, error, paste } = usePaste(table, offer, onClose);
  const isBusy = percent !== undefined;
  return (
    <Modal
      opened
      onClose={() => !isBusy && onClose()}
      title={`Paste ${pluralize(widthOf(block), 'column')} × ${pluralize(body.length, 'row')}`}
      size="lg"
      withCloseButton={!isBusy}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        {error !== undefined && (
          <Alert color="red" title="The paste failed">
            {errorMessage(error)}
          </Alert>
        )}
        <Switch
          label="First line contains column names"
          checked={hasHeader}
          disabled={isBusy || block.length < 2}
          onChange={(event) => setHasHeader(event.currentTarget.checked)}
        />
        <PastePreview goals={goals} body={body} />
        {isFiltered(table.query) && (
          <Text size="sm" c="dimmed">
            A filter or search is active: shown rows are filled, and no rows are added.
          </Text>
        )}
        {newCount > NEW_COLUMNS_MAX && (
          <Text size="sm" c="red">
            This would create more than {formatNumber(NEW_COLUMNS_MAX)} new columns. Import it as a file instead.
          </Text>
        )}
        {isBusy && <Progress value={percent} animated aria-label="Paste progress" />}
        <Group justify="flex-end">
          <Button variant="default" disabled={isBusy} onClick={onClose}>
            Cancel
          </Button>
          {newCount > 0 && newCount < goals.length && (
            <Button variant="default" disabled={isBusy} onClick={() => void paste(false)}>
              Paste only what fits
            </Button>
          )}
          <Button data-autofocus loading={isBusy} disabled={newCount > NEW_COLUMNS_MAX} onClick={() => void paste(true)}>
            {newCount > 0 ? `Paste and create ${pluralize(newCount, 'new column')}` : 'Paste'}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** Where the block goes, and pasting it, with or without the new columns it needs. */
function usePaste(table: Table, offer: PasteOffer, onDone: () => void) {
  const { block, columns, isEmptyTable, isAtEnd } = offer;
  // Read from the selection, which follows its rows when others move them.
  const firstRow = isAtEnd ? offer.firstRow : table.selection.range?.firstRow;
  const projectId = table.project.id;
  const queryClient = useQueryClient();
  const [hasHeader, setHasHeader] = useState(() => guessHeader(block, columns, isEmptyTable));
  const [percent, setPercent] = useState<number>();
  const [error, setError] = useState<unknown>();
  const goals = destinations(block, columns, { ...offer, hasHeader });
  const body = hasHeader ? block.slice(1) : block;
  const newCount = goals.filter(({ columnId }) => columnId === undefined).length;

  const paste = async (isAll: boolean) => {
    if (firstRow === undefined) return setError(new Error('The target row was deleted. Close this dialog and select another row.'));
    setPercent(0);
    setError(undefined);
    try {
      const ids = isAll ? await createColumns(projectId, goals) : goals.map(({ columnId }) => columnId);
      if (isAll) await queryClient.invalidateQueries({ queryKey: projectQuery(projectId).queryKey });
      const target = {
        columns: ids.map((id = '') => ({ id, isWritable: id !== '' })),
        firstColumn: 0,
        firstRow: isAtEnd ? (table.store.total ?? 0) : firstRow,
      };
      const leftOut = await pasteInto(table, body, target, {
        onProgress: (done, all) => setPercent((done / all) * 100),
        madeColumns: isAll ? newCount : 0,
      });
      if (isAll && leftOut) notify(`${pluralize(leftOut, 'row')} did not fit and ${leftOut === 1 ? 'was' : 'were'} skipped.`);
      onDone();
    } catch (failure) {
      setPercent(undefined);
      setError(failure);
    }
  };
  return { hasHeader, setHasHeader, goals, body, newCount, percent, error, paste };
}
