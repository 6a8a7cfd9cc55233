import { ActionIcon, Button, Group, Paper, Text, Tooltip } from '@mantine/core';
import { useRestoreNote } from '../api/trash';
import { isProcessed } from '../api/types';
import { ConfirmDialog } from '../ui/ConfirmDialog';
import { formatNumber, pluralize } from '../ui/format';
import { Icon } from '../ui/Icon';
import { notify, notifyError } from '../ui/notify';
import { deleteSelected } from './editing/deleteRows';
import { countSelectedRows, isEverythingSelected, selectedRowIds } from './editing/selectedRows';
import { EMPTY_SELECTION } from './grid/selection';
import { isFiltered, runBody } from './rows/rowQuery';
import type { Table } from './state/useTable';
import classes from './Table.module.css';

const ROWS_MAX = 100_000;

interface Props {
  table: Table;
  /** Whether the dialog that asks before deleting is open. */
  isConfirming: boolean;
  setIsConfirming: (isConfirming: boolean) => void;
  onDelete: () => void;
  onOpenCell: (rowIndex: number, columnId: string) => void;
}

/** Toolbar for the selected rows. */
export function SelectionBar({ table, isConfirming, setIsConfirming, onDelete, onOpenCell }: Props) {
  const selected = countSelectedRows(table);
  if (selected <= 0) return null;
  const isEvery = isEverythingSelected(table);
  const every = `${formatNumber(selected)} rows${isFiltered(table.query) ? ' that match' : ''}`;
  const first = table.selection.rows.first();

  return (
    <Paper className={classes.selection} shadow="md" withBorder radius="lg" role="toolbar" aria-label="Selected rows">
      <Text size="sm" fw={600}>
        {isEvery ? `All ${every}` : `${formatNumber(selected)} selected`}
      </Text>
      <Group gap={6} wrap="nowrap">
        {table.columns.some(isProcessed) && <RunButtons table={table} />}
        {selected === 1 && first !== undefined && (
          <Button size="xs" variant="default" onClick={() => onOpenCell(first, table.shownColumns[0]?.id ?? '_trigger')}>
            Details
          </Button>
        )}
        <Button size="xs" variant="subtle" color="red" leftSection={<Icon name="trash" size={14} />} onClick={onDelete}>
          Delete
        </Button>
        <Tooltip label="Clear the selection">
          <ActionIcon variant="subtle" color="gray" aria-label="Clear the selection" onClick={() => table.setSelection(EMPTY_SELECTION)}>
            <Icon name="close" size={16} />
          </ActionIcon>
        </Tooltip>
      </Group>
      {isConfirming && (
        <ConfirmDialog
          title={isEvery ? `Delete all ${every}?` : `Delete ${pluralize(selected, 'row')}?`}
          action={`Delete ${pluralize(selected, 'row')}`}
          onClose={() => setIsConfirming(false)}
          onConfirm={() => deleteSelected(table)}
        >
          This deletes the rows for everyone. <RestoreNote />
        </ConfirmDialog>
      )}
    </Paper>
  );
}

function RestoreNote() {
  return useRestoreNote().replace('restore it', 'restore them');
}

/** Runs or stops the selected rows. If all rows are selected, the service gets the query instead of a list of ids. */
function RunButtons({ table }: { table: Table }) {
  const { runs, query, progress } = table;
  const isEvery = isEverythingSelected(table);
  const withIds = async (act: (rowIds: string[]) => Promise<unknown>) => {
    if (countSelectedRows(table) > ROWS_MAX) return notify(`Select up to ${formatNumber(ROWS_MAX)} rows, or use Run above for all of them.`);
    try {
      await act(await selectedRowIds(table));
    } catch (error) {
      notifyError(error);
    }
  };
  const run = () => (isEvery ? runs.run(runBody(query)) : withIds((rowIds) => runs.run({ rowIds })));
  const stop = () => (isEvery && !isFiltered(query) ? runs.stop() : withIds((rowIds) => runs.stop(rowIds)));
  return (
    <>
      <Button size="xs" leftSection={<Icon name="play" size={14} />} onClick={() => void run()}>
        Run
      </Button>
      {progress.isRunning && (
        <Button size="xs" variant="default" onClick={() => void stop()}>
          Stop these
        </Button>
      )}
    </>
  );
}
