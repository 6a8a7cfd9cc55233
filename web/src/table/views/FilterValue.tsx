import { Group, MultiSelect, NumberInput, Select, TagsInput, TextInput } from '@mantine/core';
import type { ErrorCode, Filter, Json } from '../../api/types';
import { numberShown, numberTyped } from './numberField';
import { operatorOf } from './operators';

const STATES = [
  { value: 'idle', label: 'not run yet' },
  { value: 'queued', label: 'queued' },
  { value: 'generating', label: 'running' },
  { value: 'completed', label: 'done' },
  { value: 'error', label: 'failed' },
  { value: 'skipped', label: 'skipped' },
];

const CODES: { value: ErrorCode; label: string }[] = [
  { value: 'missing_input', label: 'an input is empty' },
  { value: 'invalid_input', label: 'an input cannot be used' },
  { value: 'dependency_error', label: 'an input failed' },
  { value: 'condition_not_met', label: 'the run condition is not met' },
  { value: 'missing_credentials', label: 'no key is set' },
  { value: 'invalid_credentials', label: 'the key was refused' },
  { value: 'out_of_credits', label: 'no credit is left' },
  { value: 'rate_limited', label: 'too many requests' },
  { value: 'timed_out', label: 'no answer in time' },
  { value: 'provider_error', label: 'the provider failed' },
  { value: 'blocked', label: 'the address is blocked' },
  { value: 'invalid_output', label: 'the answer has the wrong shape' },
  { value: 'too_large', label: 'the answer is too large' },
  { value: 'stopped', label: 'it was stopped' },
  { value: 'spend_limit', label: 'a spending cap is reached' },
  { value: 'needs_browser', label: 'the page needs a browser' },
];

const PERIODS = [
  { value: 'pastDays', label: 'the past days' },
  { value: 'nextDays', label: 'the next days' },
  { value: 'today', label: 'today' },
  { value: 'thisWeek', label: 'this week' },
  { value: 'thisMonth', label: 'this month' },
  { value: 'thisYear', label: 'this year' },
];

/** Otherwise the field would round a long number when it is left. */
const KEPT_AS_TYPED = { clampBehavior: 'none', trimLeadingZeroesOnBlur: false } as const;

interface Props {
  filter: Filter;
  /** The options of the column, if it is a select. */
  options?: readonly string[] | undefined;
  onChange: (value: Json) => void;
}

/** Input for the value a condition compares with. */
export function FilterValue({ filter, options = [], onChange }: Props) {
  const { value } = filter;
  const common = { size: 'xs', flex: '1 1 120px', miw: 110, 'aria-label': 'Value' } as const;
  const inside = { withinPortal: false };
  const list = Array.isArray(value) ? value.map(String) : [];
  switch (operatorOf(filter.operator).value) {
    case 'none':
      return <span style={{ flex: '1 1 120px' }} />;
    case 'list':
      return <TagsInput {...common} data={[...options]} value={list} onChange={onChange} placeholder={list.length ? '' : 'Type, then Enter'} comboboxProps={inside} />;
    case 'number':
      return <NumberInput {...common} {...KEPT_AS_TYPED} value={numberShown(value)} placeholder="Number" onChange={(next) => onChange(numberTyped(next))} />;
    case 'range':
      return <Range ends={Array.isArray(value) ? value : [null, null]} onChange={onChange} />;
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
      if (options.length > 0 && (filter.operator === 'equals' || filter.operator === 'notEquals')) {
        return <Select {...common} data={[...options]} value={typeof value === 'string' && value ? value : null} placeholder="Option" searchable comboboxProps={inside} onChange={(next) => onChange(next ?? '')} />;
      }
      return <TextInput {...common} value={String(value ?? '')} placeholder="Value" onChange={(event) => onChange(event.currentTarget.value)} />;
  }
}

function Range({ ends, onChange }: { ends: Json[]; onChange: (value: Json) => void }) {
  return (
    <Group gap={4} flex="1 1 120px" wrap="nowrap">
      {['From', 'To'].map((label, end) => (
        <NumberInput
          key={label}
          size="xs"
          miw={0}
          hideControls
          aria-label={label}
          placeholder={label}
          {...KEPT_AS_TYPED}
          value={numberShown(ends[end])}
          onChange={(next) => {
            const number = numberTyped(next);
            onChange(end === 0 ? [number, ends[1] ?? null] : [ends[0] ?? null, number]);
          }}
        />
      ))}
    </Group>
  );
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
