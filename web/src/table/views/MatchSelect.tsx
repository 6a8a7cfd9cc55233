import { Select } from '@mantine/core';
import type { FilterGroup } from '../../api/types';

type Conjunction = FilterGroup['conjunction'];

const CHOICES: { value: Conjunction; label: string }[] = [
  { value: 'and', label: 'Match all of these' },
  { value: 'or', label: 'Match any of these' },
  { value: 'not', label: 'Match none of these' },
];

interface Props {
  label: string;
  value: Conjunction;
  onChange: (value: Conjunction) => void;
}

/** Chooses whether all, any or none of the conditions must hold. */
export function MatchSelect({ label, value, onChange }: Props) {
  return (
    <Select
      size="xs"
      w={190}
      aria-label={label}
      data={CHOICES}
      value={value}
      allowDeselect={false}
      comboboxProps={{ withinPortal: false }}
      onChange={(chosen) => chosen && onChange(chosen as Conjunction)}
    />
  );
}
