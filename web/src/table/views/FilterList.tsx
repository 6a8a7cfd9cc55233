import { ActionIcon, Button, Group, Paper, Stack } from '@mantine/core';
import type { Column, FilterNode } from '../../api/types';
import { Icon } from '../../ui/Icon';
import { inheritKey, keyOf } from './filterKeys';
import { FilterRow } from './FilterRow';
import { groupsFor, type Kind } from './kinds';
import { MatchSelect } from './MatchSelect';
import { DEPTH_MAX, isGroup, operatorOf, valueFor } from './operators';

interface Props {
  columns: readonly Column[];
  kindOf: (columnId: string) => Kind;
  filters: readonly FilterNode[];
  onChange: (filters: FilterNode[]) => void;
  /** Nesting depth of this list. */
  depth: number;
}

/** List of conditions and nested groups. */
export function FilterList({ columns, kindOf, filters, onChange, depth }: Props) {
  const replace = (old: FilterNode, node: FilterNode) => onChange(filters.map((one) => (one === old ? inheritKey(old, node) : one)));
  const remove = (old: FilterNode) => onChange(filters.filter((one) => one !== old));
  const condition = (): FilterNode => {
    const first = columns.find((column) => column.type === 'manual' && !column.trigger) ?? columns[0];
    const operator = groupsFor(kindOf(first?.id ?? ''), first).likely[0]?.items[0]?.value ?? 'contains';
    const value = valueFor(operatorOf(operator), undefined);
    return { columnId: first?.id ?? '_trigger', operator, ...(value !== undefined && { value }) };
  };

  return (
    <Stack gap="xs">
      {filters.map((node) =>
        isGroup(node) ? (
          <Paper key={keyOf(node)} withBorder p="xs" radius="md" bg="var(--surface)">
            <Stack gap="xs">
              <Group justify="space-between" wrap="nowrap">
                <MatchSelect
                  label="Combine conditions of this group"
                  value={node.conjunction}
                  onChange={(conjunction) => replace(node, { ...node, conjunction })}
                />
                <ActionIcon variant="subtle" color="gray" aria-label="Remove this group" onClick={() => remove(node)}>
                  <Icon name="close" size={16} />
                </ActionIcon>
              </Group>
              <FilterList
                columns={columns}
                kindOf={kindOf}
                filters={node.filters}
                depth={depth + 1}
                onChange={(inner) => (inner.length > 0 ? replace(node, { ...node, filters: inner }) : remove(node))}
              />
            </Stack>
          </Paper>
        ) : (
          <FilterRow
            key={keyOf(node)}
            columns={columns}
            kindOf={kindOf}
            filter={node}
            onChange={(next) => replace(node, next)}
            onRemove={() => remove(node)}
          />
        ),
      )}
      <Group gap={6}>
        <Button size="xs" variant="subtle" leftSection={<Icon name="plus" size={15} />} onClick={() => onChange([...filters, condition()])}>
          Add a condition
        </Button>
        {depth < DEPTH_MAX - 1 && filters.length > 0 && (
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
