import { ActionIcon, Button, Group, ScrollArea, Stack, Switch } from '@mantine/core';
import { Icon } from '../../ui/Icon';
import type { Table } from '../state/useTable';
import { withHidden } from '../views/viewState';

interface Props {
  table: Table;
  onConfigure: (columnId: string) => void;
}

/** Shows and hides columns, and opens their settings by keyboard. */
export function ColumnsList({ table, onConfigure }: Props) {
  const { state, change } = table.views;
  const all = (isVisible: boolean) =>
    change({
      ...state,
      columnVisibility: Object.fromEntries(table.columns.map((column, place) => [column.id, isVisible || place === 0])),
    });
  return (
    <Stack gap="sm">
      <ScrollArea.Autosize mah="50vh">
        <Stack gap={10} p={2}>
          {table.columns.map((column) => (
            <Group key={column.id} justify="space-between" wrap="nowrap" gap={6}>
              <Switch
                size="sm"
                label={column.header}
                checked={state.columnVisibility[column.id] !== false}
                onChange={(event) => change(withHidden(state, column.id, !event.currentTarget.checked))}
              />
              <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`Configure ${column.header}`} onClick={() => onConfigure(column.id)}>
                <Icon name="settings" size={15} />
              </ActionIcon>
            </Group>
          ))}
        </Stack>
      </ScrollArea.Autosize>
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={() => all(true)}>
          Show all
        </Button>
        <Button size="xs" variant="default" onClick={() => all(false)}>
          Hide all
        </Button>
      </Group>
    </Stack>
  );
}
