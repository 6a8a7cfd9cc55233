import { Alert, Button, Group, NumberInput, Select, Stack, Switch } from '@mantine/core';
import type { DateStyle, Format, FormatType } from '../../api/types';
import { pluralize } from '../../ui/format';
import { hasOptions, TYPE_CHOICES, TYPES } from '../formats/format';
import { CURRENCIES } from '../formats/currencies';
import { formatOf } from '../formats/options';
import { isMisfit } from '../formats/reading';
import { OptionsEditor } from './OptionsEditor';
import { sampleValues } from './sampleValues';
import type { SectionProps } from './sectionProps';
import { useGuess } from './useGuess';

const AUTOMATIC = 'automatic';

const DATE_STYLES: { value: DateStyle; label: string }[] = [
  { value: 'local', label: 'As the reader is used to' },
  { value: 'iso', label: '2024-01-31' },
  { value: 'us', label: '01/31/2024' },
  { value: 'european', label: '31/01/2024' },
];

/** The type of the column's values and its settings. */
export function FormatSection({ table, draft, column, onChange }: SectionProps) {
  const { format } = draft;
  const samples = column ? sampleValues(table, column.id) : [];
  const misfits = format ? samples.filter((value) => isMisfit(value, format)).length : 0;
  const choose = (type: string | null) => onChange({ format: type === null || type === AUTOMATIC ? null : formatOf(type as FormatType, samples) });
  return (
    <Stack gap="sm">
      <Select
        label="Type of the values"
        description="How values are shown, edited, checked, sorted and filtered. What is stored stays as it was written."
        data={[{ value: AUTOMATIC, label: 'Automatic: each value as what it is' }, ...TYPE_CHOICES]}
        value={format?.type ?? AUTOMATIC}
        allowDeselect={false}
        searchable
        maxDropdownHeight={360}
        onChange={choose}
      />
      {!format && <Suggestion table={table} column={column} onUse={(guessed) => onChange({ format: guessed })} />}
      {format && <Settings format={format} onChange={(next) => onChange({ format: next })} />}
      {misfits > 0 && (
        <Alert color="orange" variant="light" title={`${pluralize(misfits, 'value')} in the first ${pluralize(samples.length, 'row')} ${misfits === 1 ? 'does' : 'do'} not fit`}>
          {misfits === 1 ? 'It is kept and marked.' : 'They are kept and marked.'} Filter by “does not fit the type” to find {misfits === 1 ? 'it' : 'them'}.
        </Alert>
      )}
    </Stack>
  );
}

/** Offers the type that the values seem to have. */
function Suggestion({ table, column, onUse }: Pick<SectionProps, 'table' | 'column'> & { onUse: (format: Format) => void }) {
  const guess = useGuess(table, column);
  if (!guess) return null;
  const { format, fits, misfits } = guess;
  return (
    <Alert color="mill" variant="light" title={`This looks like: ${TYPES[format.type].label}`}>
      <Group justify="space-between" gap="xs">
        {misfits === 0 ? 'All values fit.' : `${fits} of ${fits + misfits} values fit.`}
        <Button size="compact-sm" variant="light" onClick={() => onUse(format)}>
          Use this type
        </Button>
      </Group>
    </Alert>
  );
}

function Settings({ format, onChange }: { format: Format; onChange: (format: Format) => void }) {
  const set = (change: Partial<Format>) => onChange({ ...format, ...change });
  const { type } = format;
  const isAmount = type === 'number' || type === 'currency' || type === 'percent';
  return (
    <>
      {type === 'currency' && (
        <Select
          label="Currency"
          data={CURRENCIES}
          value={format.currency ?? 'USD'}
          allowDeselect={false}
          searchable
          onChange={(currency) => currency && set({ currency })}
        />
      )}
      {isAmount && (
        <NumberInput
          label="Decimal places"
          placeholder={type === 'currency' ? 'As usual in the currency' : 'As written'}
          min={0}
          max={10}
          allowDecimal={false}
          value={format.decimals ?? ''}
          onChange={(value) => {
            const { decimals: _, ...rest } = format;
            onChange(value === '' ? rest : { ...rest, decimals: Number(value) });
          }}
        />
      )}
      {(type === 'date' || type === 'dateTime') && (
        <Select
          label="Dates are shown"
          description="With 31/01/2024, a date such as 03/04/2024 is read as 3 April, otherwise as March 4."
          data={DATE_STYLES}
          value={format.dateStyle ?? 'local'}
          allowDeselect={false}
          onChange={(dateStyle) => dateStyle && set({ dateStyle: dateStyle as DateStyle })}
        />
      )}
      {type === 'rating' && (
        <NumberInput label="Highest rating" min={1} max={10} allowDecimal={false} value={format.max ?? 5} onChange={(value) => set({ max: Math.max(1, Number(value) || 5) })} />
      )}
      {hasOptions(format) && <OptionsEditor format={format} onChange={(options) => set({ options })} />}
      <Switch
        label="Refuse values that do not fit"
        description="Otherwise they are kept and marked. Results of runs are always kept."
        checked={format.strict ?? false}
        onChange={(event) => set({ strict: event.currentTarget.checked })}
      />
    </>
  );
}
