import { ActionIcon, Button, Group, Paper, Select, Stack, Text } from '@mantine/core';
import type { Column, FilterNode } from '../../api/types';
import { Icon } from '../../ui/Icon';
import { FilterRow } from './FilterRow';
import { DEPTH_MAX, isGroup } from './operators';

interface Props {
  columns: readonly Column[];
  filters: readonly FilterNode[];
  onChange: (filters: FilterNode[]) => void;
  /** How deep in groups this list stands. */
  depth?: number;
  empty?: string;
}

/** Conditions that must all hold, with groups in which any or none of them must. */
export default function FilterBuilder({ columns, filters, onChange, depth = 0, empty }: Props) {
  const replace = (place: number, node: FilterNode) => onChange(filters.map((old, at) => (at === place ? node : old)));
  const remove = (place: number) => onChange(filters.filter((_, at) => at !== place));
  const first = columns.find((column) => column.type === 'manual' && !column.trigger) ?? columns[0];
  const condition = (): FilterNode => ({ columnId: first?.id ?? '_trigger', operator: 'contains', value: '' });

  return (
    <Stack gap="xs">
      {filters.length === 0 && depth === 0 && (
        <Text size="sm" c="dimmed">
          {empty ?? 'All rows are shown. Add a condition to see only some of them.'}
        </Text>
      )}
      {filters.map((node, place) =>
        isGroup(node) ? (
          <Paper key={place} withBorder p="xs" radius="md" bg="var(--surface)">
            <Stack gap="xs">
              <Group justify="space-between" wrap="nowrap">
                <Select
                  size="xs"
                  w={210}
                  aria-label="How the conditions of this group count"
                  value={node.conjunction}
                  allowDeselect={false}
                  comboboxProps={{ withinPortal: false }}
                  data={[
                    { value: 'or', label: 'Any of these must hold' },
                    { value: 'and', label: 'All of these must hold' },
                    { value: 'not', label: 'None of these may hold' },
                  ]}
                  onChange={(conjunction) =>
                    conjunction && replace(place, { ...node, conjunction: conjunction as 'and' | 'or' | 'not' })
                  }
                />
                <ActionIcon variant="subtle" color="gray" aria-label="Remove this group" onClick={() => remove(place)}>
                  <Icon name="close" size={16} />
                </ActionIcon>
              </Group>
              <FilterBuilder
                columns={columns}
                filters={node.filters}
                depth={depth + 1}
                onChange={(inner) => (inner.length > 0 ? replace(place, { ...node, filters: inner }) : remove(place))}
              />
            </Stack>
          </Paper>
        ) : (
          <FilterRow
            key={place}
            columns={columns}
            filter={node}
            onChange={(next) => replace(place, next)}
            onRemove={() => remove(place)}
          />
        ),
      )}
      <Group gap={6}>
        <Button
          size="xs"
          variant="subtle"
          leftSection={<Icon name="plus" size={15} />}
          onClick={() => onChange([...filters, condition()])}
        >
          Add a condition
        </Button>
        {depth < DEPTH_MAX - 1 && (
          <Button
            size="xs"
            variant="subtle"
            color="gray"
            leftSection={<Icon name="plus" size={15} />}
            onClick={() => onChange([...filters, { conjunction: 'or', filters: [condition()] }])}
          >
            Add a group
          </Button>
        )}
      </Group>
    </Stack>
  );
}
