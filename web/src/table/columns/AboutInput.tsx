import { Button, Group, Stack, Text } from '@mantine/core';
import { Icon } from '../../ui/Icon';
import type { Table } from '../state/useTable';
import { withHidden } from '../views/viewState';

/** What the column is for that every table begins with. */
export function AboutInput({ table, columnId }: { table: Table; columnId: string }) {
  const { state, change } = table.views;
  const isShown = state.columnVisibility[columnId] !== false;
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        Every table begins with this column. What comes from outside and has no column of its own is kept here: a guest of an
        event, or fields sent by API.
      </Text>
      <Text size="sm" c="dimmed">
        You can write here as anywhere else: then call it what you write, such as “Company” or “Website”. If you do not need
        it, hide it. It cannot be deleted.
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
