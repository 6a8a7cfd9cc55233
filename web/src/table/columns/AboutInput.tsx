import { Button, Group, Stack, Text } from '@mantine/core';
import { Icon } from '../../ui/Icon';
import type { Table } from '../state/useTable';
import { withHidden } from '../views/viewState';

/** Explains the input column. */
export function AboutInput({ table, columnId }: { table: Table; columnId: string }) {
  const { state, change } = table.views;
  const isShown = state.columnVisibility[columnId] !== false;
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        Every table starts with this column. It stores incoming data that has no column of its own, such as guests of an
        event or fields sent through the API.
      </Text>
      <Text size="sm" c="dimmed">
        You can also type in it. Then rename it, for example to “Company” or “Website”. If you do not need it, hide it. It
        cannot be deleted.
      </Text>
      <Group>
        <Button
          variant="default"
          leftSection={<Icon name={isShown ? 'eyeOff' : 'eye'} size={16} />}
          onClick={() => change(withHidden(state, columnId, isShown))}
        >
          {isShown ? 'Hide this column' : 'Show this column'}
        </Button>
      </Group>
    </Stack>
  );
}
