import { ActionIcon, Group, Select, Text } from '@mantine/core';
import { useState } from 'react';
import type { Column, Filter } from '../../api/types';
import { Icon } from '../../ui/Icon';
import { FilterValue } from './FilterValue';
import { groupsFor, type Kind } from './kinds';
import { operatorOf, filterProblem, valueFor } from './operators';

const MORE = 'more';

interface Props {
  columns: readonly Column[];
  kindOf: (columnId: string) => Kind;
  filter: Filter;
  onChange: (filter: Filter) => void;
  onRemove: () => void;
}

/**
 * One condition: column, operator and value. An incomplete condition stays local, so the table does not change while it
 * is edited.
 */
export function FilterRow({ columns, kindOf, filter, onChange, onRemove }: Props) {
  const [draft, setDraft] = useState(filter);
  const [last, setLast] = useState(filter);
  if (last !== filter) {
    setLast(filter);
    setDraft(filter);
  }
  const lacks = filterProblem(draft);
  const change = (next: Filter) => {
    setDraft(next);
    if (filterProblem(next) === undefined || filterProblem(filter) !== undefined) onChange(next);
  };
  const withOperator = (from: Filter, id: string): Filter => {
    const { value: before, ...rest } = from;
    const value = valueFor(operatorOf(id), before);
    return { ...rest, operator: id, ...(value !== undefined && { value }) };
  };
  const toColumn = (columnId: string) => {
    const moved = { ...draft, columnId };
    // Nothing is chosen yet, so start with the usual operator for the column.
    const usual = groupsFor(kindOf(columnId), columns.find(({ id }) => id === columnId)).likely[0]?.items[0]?.value;
    change(lacks && usual ? withOperator(moved, usual) : moved);
  };
  const inside = { withinPortal: false };
  return (
    <div>
      <Group gap={6} align="flex-start">
        <Select
          size="xs"
          flex="1 1 120px"
          miw={110}
          aria-label="Column"
          data={columns.map((column) => ({ value: column.id, label: column.header }))}
          value={draft.columnId}
          allowDeselect={false}
          comboboxProps={inside}
          onChange={(columnId) => columnId && toColumn(columnId)}
        />
        <Comparison
          kind={kindOf(draft.columnId)}
          column={columns.find(({ id }) => id === draft.columnId)}
          operator={draft.operator}
          onChoose={(id) => change(withOperator(draft, id))}
        />
        <FilterValue
          filter={draft}
          options={columns.find(({ id }) => id === draft.columnId)?.format?.options?.map(({ value }) => value)}
          onChange={(value) => change({ ...draft, value })}
        />
        <ActionIcon variant="subtle" color="gray" aria-label="Remove this condition" onClick={onRemove}>
          <Icon name="close" size={16} />
        </ActionIcon>
      </Group>
      <Text size="xs" c="dimmed" mt={lacks ? 4 : 0} role="status">
        {lacks && `${lacks} Until then, this condition is ignored.`}
      </Text>
    </div>
  );
}

interface ComparisonProps {
  kind: Kind;
  column: Column | undefined;
  operator: string;
  onChoose: (id: string) => void;
}

/** Operators that suit the column; the others on request. */
function Comparison({ kind, column, operator, onChoose }: ComparisonProps) {
  const [isAll, setIsAll] = useState(false);
  const [isOpen, setIsOpen] = useState(false);
  const { likely, others } = groupsFor(kind, column);
  const isLikely = likely.some(({ items }) => items.some(({ value }) => value === operator));
  const more = { group: 'Others', items: [{ value: MORE, label: 'More comparisons…' }] };
  return (
    <Select
      size="xs"
      flex="1 1 120px"
      miw={110}
      aria-label="Comparison"
      data={[...likely, ...(isAll || !isLikely ? others : [more])]}
      value={operator}
      allowDeselect={false}
      maxDropdownHeight={400}
      comboboxProps={{ withinPortal: false }}
      dropdownOpened={isOpen}
      onDropdownOpen={() => setIsOpen(true)}
      onDropdownClose={() => setIsOpen(false)}
      onChange={(id) => {
        if (id === MORE) {
          setIsAll(true);
          // The list closes after every choice, so open it again with all operators.
          requestAnimationFrame(() => setIsOpen(true));
        } else if (id) onChoose(id);
      }}
    />
  );
}
