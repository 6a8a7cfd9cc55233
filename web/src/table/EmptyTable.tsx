import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { Icon } from '../ui/Icon';
import classes from './Table.module.css';
import type { Table } from './useTable';

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

/** What a filter or a search says that leaves nothing. */
export function NoMatch({ table }: { table: Table }) {
  const { query, views, search, setSearch } = table;
  const hasFilters = query.filters.length > 0;
  const isBoth = hasFilters && query.search !== '';
  const clear = () => {
    if (search) setSearch('');
    if (hasFilters) views.change({ ...views.state, filters: [] });
  };
  return (
    <div className={classes.empty}>
      <Paper withBorder radius="lg" p="lg" shadow="xs" maw={430} style={{ pointerEvents: 'auto' }} role="status">
        <Stack gap="sm" align="center">
          <Text fw={650}>No row matches</Text>
          <Text size="sm" c="dimmed" ta="center">
            {query.search && `No cell contains “${query.search}”${hasFilters ? ' in the rows that are left by the filters.' : '.'}`}
            {!query.search && 'Every row is left out by the filters.'}
          </Text>
          <Button variant="default" onClick={clear}>
            Clear {isBoth ? 'search and filters' : hasFilters ? 'the filters' : 'the search'}
          </Button>
        </Stack>
      </Paper>
    </div>
  );
}
