import { ActionIcon, Button, Group, Paper, Text, Tooltip } from '@mantine/core';
import { count, counted } from '../ui/format';
import { ConfirmDialog } from '../ui/ConfirmDialog';
import { Icon } from '../ui/Icon';
import { tell, tellError } from '../ui/notify';
import { NOTHING, rowRuns } from './grid/selection';
import { deleteSelected, UNDO_ROWS_MAX } from './rows/deleteSelected';
import { fetchIds } from './rows/fetchRows';
import classes from './Table.module.css';
import type { Table } from './useTable';

const ROWS_MAX = 100_000;

interface Props {
  table: Table;
  isAsked: boolean;
  setIsAsked: (isAsked: boolean) => void;
  onDelete: () => void;
  onOpenCell: (rowIndex: number, columnId: string) => void;
}

/** What can be done with the selected rows. */
export function SelectionBar({ table, isAsked, setIsAsked, onDelete, onOpenCell }: Props) {
  const { selection, runs } = table;
  const selected = countSelected(table);
  if (selected <= 0) return null;

  const withIds = async (act: (rowIds: string[]) => Promise<unknown>) => {
    if (selected > ROWS_MAX) return tell(`Select up to ${count(ROWS_MAX)} rows, or use Run above for all of them.`);
    try {
      await act(await selectedIds(table));
    } catch (error) {
      tellError(error);
    }
  };
  const first = selection.rows.first();

  return (
    <Paper className={classes.selection} shadow="md" withBorder radius="lg" role="toolbar" aria-label="Selected rows">
      <Text size="sm" fw={600}>
        {count(selected)} selected
      </Text>
      <Group gap={6} wrap="nowrap">
        <Button size="xs" leftSection={<Icon name="play" size={14} />} onClick={() => void withIds((rowIds) => runs.run({ rowIds }))}>
          Run
        </Button>
        <Button
          size="xs"
          variant="default"
          leftSection={<Icon name="stop" size={14} />}
          onClick={() => void withIds((rowIds) => runs.stop(rowIds))}
        >
          Stop
        </Button>
        {selected === 1 && first !== undefined && (
          <Button size="xs" variant="default" onClick={() => onOpenCell(first, table.shownColumns[0]?.id ?? '_trigger')}>
            Details
          </Button>
        )}
        <Button
          size="xs"
          variant="subtle"
          color="red"
          leftSection={<Icon name="trash" size={14} />}
          onClick={onDelete}
        >
          Delete
        </Button>
        <Tooltip label="Clear the selection">
          <ActionIcon variant="subtle" color="gray" aria-label="Clear the selection" onClick={() => table.setSelection(NOTHING)}>
            <Icon name="close" size={16} />
          </ActionIcon>
        </Tooltip>
      </Group>
      {isAsked && (
        <ConfirmDialog
          title={`Delete ${counted(selected, 'row')}?`}
          action={`Delete ${counted(selected, 'row')}`}
          onClose={() => setIsAsked(false)}
          onConfirm={() => deleteSelected(table)}
        >
          They go for everybody, with everything in them.{' '}
          {selected > UNDO_ROWS_MAX ? 'This cannot be undone.' : 'You can undo it while this page is open.'}
        </ConfirmDialog>
      )}
    </Paper>
  );
}

export function countSelected({ selection, total = 0 }: Table): number {
  return selection.rows.length - (selection.rows.hasIndex(total) ? 1 : 0);
}

async function selectedIds(table: Table): Promise<string[]> {
  const { store, selection, project, query, total = 0 } = table;
  const ids: string[] = [];
  for (const [first, end] of rowRuns(selection.rows)) {
    const last = Math.min(end, total);
    const rows = Array.from({ length: last - first }, (_, offset) => store.rowAt(first + offset));
    const isAtHand = rows.every((row) => row !== undefined);
    ids.push(...(isAtHand ? rows.map((row) => row.id) : await fetchIds(project.id, query, first, last)));
  }
  return ids;
}
