import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { Icon } from '../ui/Icon';
import classes from './Table.module.css';

/** What an empty table says: three ways to put rows in. */
export function EmptyTable({ onImport, onAddColumn }: { onImport: () => void; onAddColumn: () => void }) {
  return (
    <div className={classes.empty}>
      <Paper withBorder radius="lg" p="xl" shadow="xs" maw={430} style={{ pointerEvents: 'auto' }}>
        <Stack gap="sm">
          <Text fw={650} size="lg">
            No rows yet
          </Text>
          <Text size="sm" c="dimmed">
            Type into the row above, paste cells from a spreadsheet, or drop a CSV file anywhere on this page. Then add a
            column that fills itself.
          </Text>
          <Group>
            <Button leftSection={<Icon name="upload" />} onClick={onImport}>
              Import a file
            </Button>
            <Button variant="default" leftSection={<Icon name="plus" />} onClick={onAddColumn}>
              Add a column
            </Button>
          </Group>
        </Stack>
      </Paper>
    </div>
  );
}
