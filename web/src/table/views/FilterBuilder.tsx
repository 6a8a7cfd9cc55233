import { Stack, Text } from '@mantine/core';
import type { Column, FilterNode } from '../../api/types';
import { FilterList } from './FilterList';
import type { Kind } from './kinds';
import { asList, matchOf } from './match';
import { MatchSelect } from './MatchSelect';

interface Props {
  columns: readonly Column[];
  filters: readonly FilterNode[];
  onChange: (filters: FilterNode[]) => void;
  /** The usual kind of value in a column, if known. */
  kindOf?: (columnId: string) => Kind;
  empty?: string;
}

/** Filter editor: conditions and groups, of which all, any or none must hold. */
export default function FilterBuilder({ columns, filters, onChange, kindOf = () => 'text', empty }: Props) {
  const { conjunction, filters: inner } = matchOf(filters);
  return (
    <Stack gap="xs">
      {inner.length === 0 ? (
        <Text size="sm" c="dimmed">
          {empty ?? 'All rows are shown. Add a condition to filter them.'}
        </Text>
      ) : (
        <MatchSelect label="Combine conditions" value={conjunction} onChange={(chosen) => onChange(asList(chosen, inner))} />
      )}
      <FilterList
        columns={columns}
        kindOf={kindOf}
        filters={inner}
        depth={0}
        onChange={(next) => onChange(asList(conjunction, next))}
      />
    </Stack>
  );
}
