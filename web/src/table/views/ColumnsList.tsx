import { Button, Group, ScrollArea, Stack, Switch } from '@mantine/core';
import type { Table } from '../useTable';
import { withHidden } from './viewState';

/** Which columns are shown. */
export function ColumnsList({ table }: { table: Table }) {
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
            <Switch
              key={column.id}
              size="sm"
              label={column.header}
              checked={state.columnVisibility[column.id] !== false}
              onChange={(event) => change(withHidden(state, column.id, !event.currentTarget.checked))}
            />
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
