import { Button, Group, Paper, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { errorMessage } from '../api/error';
import { Icon } from '../ui/Icon';
import { unnamedInput } from './model/inputColumn';
import type { Table } from './state/useTable';
import classes from './Table.module.css';

interface Props {
  table: Table;
  onName: (columnId: string, header: string) => Promise<void>;
  onImport: () => void;
  onAddColumn: () => void;
}

/** Empty state of a table: three ways to add rows. */
export function EmptyTable({ table, onName, onImport, onAddColumn }: Props) {
  const unnamed = unnamedInput(table.columns);
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
          {unnamed && <NameFirst onName={(header) => onName(unnamed.id, header)} />}
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

/** Asks for the name of the first column, which every table has. */
function NameFirst({ onName }: { onName: (header: string) => Promise<void> }) {
  const [name, setName] = useState('');
  const rename = useMutation({ mutationFn: onName });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim()) rename.mutate(name.trim());
  };
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" wrap="nowrap" gap="xs">
        <TextInput
          label="What is in the first column?"
          placeholder="Company, website, e-mail …"
          flex={1}
          maxLength={255}
          value={name}
          error={rename.isError ? errorMessage(rename.error) : undefined}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Button type="submit" variant="light" loading={rename.isPending} disabled={!name.trim()}>
          Name it
        </Button>
      </Group>
    </form>
  );
}

/** Empty state when a filter or search matches no rows. */
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
          <Text fw={650}>No matching rows</Text>
          <Text size="sm" c="dimmed" ta="center">
            {query.search && `No cell contains “${query.search}”${hasFilters ? ' in the filtered rows.' : '.'}`}
            {!query.search && 'The filters exclude every row.'}
          </Text>
          <Button variant="default" onClick={clear}>
            Clear {isBoth ? 'search and filters' : hasFilters ? 'the filters' : 'the search'}
          </Button>
        </Stack>
      </Paper>
    </div>
  );
}
