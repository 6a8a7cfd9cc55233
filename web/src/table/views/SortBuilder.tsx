import { ActionIcon, Button, Group, SegmentedControl, Select, Stack, Text } from '@mantine/core';
import type { Column, Sorting } from '../../api/types';
import { Icon } from '../../ui/Icon';

interface Props {
  columns: readonly Column[];
  sorting: Sorting;
  onChange: (sorting: Sorting) => void;
}

/** Sorting by several columns, the most important first. */
export function SortBuilder({ columns, sorting, onChange }: Props) {
  const unused = columns.filter((column) => !sorting.some((key) => key.columnId === column.id));
  const replace = (place: number, key: Sorting[number]) => onChange(sorting.map((old, at) => (at === place ? key : old)));
  const first = unused[0];
  return (
    <Stack gap="sm">
      {sorting.length === 0 && (
        <Text size="sm" c="dimmed">
          Rows are in the order they were created. Add a column to sort by.
        </Text>
      )}
      {sorting.map((key, place) => (
        <Group key={key.columnId} gap={8} wrap="nowrap">
          <Select
            size="xs"
            flex={1}
            aria-label={place === 0 ? 'Sort by' : 'Then by'}
            data={columns
              .filter((column) => column.id === key.columnId || unused.includes(column))
              .map((column) => ({ value: column.id, label: column.header }))}
            value={key.columnId}
            allowDeselect={false}
            comboboxProps={{ withinPortal: false }}
            onChange={(columnId) => columnId && replace(place, { ...key, columnId })}
          />
          <SegmentedControl
            size="xs"
            aria-label="Direction"
            value={key.direction}
            data={[
              { value: 'asc', label: 'A to Z' },
              { value: 'desc', label: 'Z to A' },
            ]}
            onChange={(direction) => replace(place, { ...key, direction: direction as 'asc' | 'desc' })}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label="Remove this sorting"
            onClick={() => onChange(sorting.filter((_, at) => at !== place))}
          >
            <Icon name="close" size={16} />
          </ActionIcon>
        </Group>
      ))}
      <div>
        <Button
          size="xs"
          variant="subtle"
          leftSection={<Icon name="plus" size={15} />}
          disabled={!first}
          onClick={() => first && onChange([...sorting, { columnId: first.id, direction: 'asc' }])}
        >
          Add a column
        </Button>
      </div>
    </Stack>
  );
}
