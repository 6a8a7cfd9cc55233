import { ActionIcon, Group, MultiSelect, NumberInput, Select, TagsInput, TextInput } from '@mantine/core';
import type { Column, Filter, Json } from '../../api/types';
import { Icon } from '../../ui/Icon';
import { OPERATORS, operatorOf, valueFor } from './operators';

const STATES = [
  { value: 'idle', label: 'not run yet' },
  { value: 'queued', label: 'queued' },
  { value: 'generating', label: 'running' },
  { value: 'completed', label: 'done' },
  { value: 'error', label: 'failed' },
  { value: 'skipped', label: 'skipped' },
];

const CODES =
  'missing_input invalid_input dependency_error missing_credentials invalid_credentials out_of_credits rate_limited timed_out provider_error blocked invalid_output too_large'.split(
    ' ',
  );

const PERIODS = [
  { value: 'pastDays', label: 'the past days' },
  { value: 'nextDays', label: 'the next days' },
  { value: 'today', label: 'today' },
  { value: 'thisWeek', label: 'this week' },
  { value: 'thisMonth', label: 'this month' },
  { value: 'thisYear', label: 'this year' },
];

const GROUPED = [...new Set(OPERATORS.map((operator) => operator.group))].map((group) => ({
  group,
  items: OPERATORS.filter((operator) => operator.group === group).map(({ id, label }) => ({ value: id, label })),
}));

interface Props {
  columns: readonly Column[];
  filter: Filter;
  onChange: (filter: Filter) => void;
  onRemove: () => void;
}

/** One condition: a column, what it is compared by, and with what. */
export function FilterRow({ columns, filter, onChange, onRemove }: Props) {
  const inside = { withinPortal: false };
  return (
    <Group gap={6} align="flex-start">
      <Select
        size="xs"
        flex="1 1 120px"
        miw={110}
        aria-label="Column"
        data={columns.map((column) => ({ value: column.id, label: column.header }))}
        value={filter.columnId}
        allowDeselect={false}
        comboboxProps={inside}
        onChange={(columnId) => columnId && onChange({ ...filter, columnId })}
      />
      <Select
        size="xs"
        flex="1 1 120px"
        miw={110}
        aria-label="Comparison"
        data={GROUPED}
        value={filter.operator}
        allowDeselect={false}
        comboboxProps={inside}
        onChange={(id) => {
          if (!id) return;
          const { value: before, ...rest } = filter;
          const value = valueFor(operatorOf(id), before);
          onChange({ ...rest, operator: id, ...(value !== undefined && { value }) });
        }}
      />
      <Value filter={filter} onChange={(value) => onChange({ ...filter, value })} />
      <ActionIcon variant="subtle" color="gray" aria-label="Remove this condition" onClick={onRemove}>
        <Icon name="close" size={16} />
      </ActionIcon>
    </Group>
  );
}

function Value({ filter, onChange }: { filter: Filter; onChange: (value: Json) => void }) {
  const { value } = filter;
  const common = { size: 'xs', flex: '1 1 120px', miw: 110, 'aria-label': 'Value' } as const;
  const inside = { withinPortal: false };
  const list = Array.isArray(value) ? value.map(String) : [];
  switch (operatorOf(filter.operator).value) {
    case 'none':
      return <span style={{ flex: '1 1 120px' }} />;
    case 'list':
      return <TagsInput {...common} value={list} onChange={onChange} placeholder={list.length ? '' : 'Type, then Enter'} comboboxProps={inside} />;
    case 'number':
      return <NumberInput {...common} value={Number(value)} onChange={(next) => onChange(Number(next))} />;
    case 'range':
      return (
        <Group gap={4} flex="1 1 120px" wrap="nowrap">
          {[0, 1].map((end) => (
            <NumberInput
              key={end}
              size="xs"
              miw={0}
              hideControls
              aria-label={end === 0 ? 'From' : 'To'}
              value={Number(list[end] ?? 0)}
              onChange={(next) => onChange(end === 0 ? [Number(next), Number(list[1] ?? 0)] : [Number(list[0] ?? 0), Number(next)])}
            />
          ))}
        </Group>
      );
    case 'date':
      return <TextInput {...common} type="date" value={String(value ?? '')} onChange={(event) => onChange(event.currentTarget.value)} />;
    case 'within':
      return <Within value={value} onChange={onChange} />;
    case 'status':
      return <Select {...common} data={STATES} value={String(value)} allowDeselect={false} comboboxProps={inside} onChange={(next) => next && onChange(next)} />;
    case 'statuses':
      return <MultiSelect {...common} data={STATES} value={list} comboboxProps={inside} onChange={onChange} />;
    case 'codes':
      return <MultiSelect {...common} data={CODES} value={list} comboboxProps={inside} onChange={onChange} />;
    default:
      return <TextInput {...common} value={String(value ?? '')} placeholder="Value" onChange={(event) => onChange(event.currentTarget.value)} />;
  }
}

function Within({ value, onChange }: { value: Json | undefined; onChange: (value: Json) => void }) {
  const { mode = 'pastDays', n = 7 } = (typeof value === 'object' && value !== null ? value : {}) as { mode?: string; n?: number };
  const hasDays = mode === 'pastDays' || mode === 'nextDays';
  return (
    <Group gap={4} flex="1 1 120px" wrap="nowrap">
      <Select
        size="xs"
        miw={0}
        aria-label="Period"
        data={PERIODS}
        value={mode}
        allowDeselect={false}
        comboboxProps={{ withinPortal: false }}
        onChange={(next) => next && onChange(next.endsWith('Days') ? { mode: next, n } : { mode: next })}
      />
      {hasDays && (
        <NumberInput size="xs" w={64} min={1} hideControls aria-label="Days" value={n} onChange={(next) => onChange({ mode, n: Number(next) })} />
      )}
    </Group>
  );
}
