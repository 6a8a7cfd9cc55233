import { Select, Skeleton, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { Filter } from '../../api/types';
import { ErrorState } from '../../ui/ErrorState';
import { formatNumber, pluralize } from '../../ui/format';
import { SidePanel } from '../../ui/SidePanel';
import { summaryKinds } from '../model/summaryKinds';
import type { Table } from '../state/useTable';
import { amountOf } from '../summaries/summaryText';
import { GroupRow } from './GroupRow';
import { groupFilter, isGroupShown, toggleGroup } from './groupFilters';
import classes from './Groups.module.css';
import { type GroupCounts, useGroups } from './useGroups';

interface Props {
  table: Table;
  columnId: string | undefined;
  onColumn: (columnId: string) => void;
  onClose: () => void;
}

const PHONE_WIDTH = 640;

/** The rows by their value in a column, with counts and totals. A click shows the rows of one group. */
export function GroupsPanel({ table, columnId, onColumn, onClose }: Props) {
  const column = table.columns.find(({ id }) => id === columnId);
  const [totalId, setTotalId] = useState<string | null>(null);
  const total = table.columns.find(({ id }) => id === totalId);
  const groups = useGroups(table, column?.id, total?.id);
  const { state, change } = table.views;
  const options = (columns: Table['columns']) => columns.map(({ id, header }) => ({ value: id, label: header }));
  const toggle = (wanted: Filter) => {
    change({ ...state, filters: toggleGroup(state.filters, wanted) });
    // On a phone the panel covers the rows.
    if (window.innerWidth < PHONE_WIDTH) onClose();
  };
  const most = Math.max(groups.data?.empty.rowCount ?? 0, groups.data?.groups[0]?.rowCount ?? 0);
  const row = (key: string, text: string, counts: GroupCounts, wanted?: Filter) => (
    <GroupRow
      key={key}
      text={text}
      count={counts.rowCount}
      share={most > 0 ? counts.rowCount / most : 0}
      total={total && amountOf(counts.total, total.format)}
      isShown={wanted !== undefined && isGroupShown(state.filters, wanted)}
      onClick={wanted && (() => toggle(wanted))}
    />
  );
  return (
    <SidePanel title="Groups" icon="group" onClose={onClose}>
      <Stack gap="sm">
        <Select label="Group by" placeholder="Choose a column" searchable data={options(table.columns)} value={column?.id ?? null} onChange={(id) => id && onColumn(id)} />
        <Select
          label="Total of"
          placeholder="Nothing"
          searchable
          clearable
          data={options(table.columns.filter(({ id, format }) => id !== columnId && summaryKinds(format).includes('sum')))}
          value={totalId}
          onChange={setTotalId}
        />
        {groups.isError && <ErrorState error={groups.error} onRetry={() => void groups.refetch()} />}
        {groups.isLoading && [0, 1, 2].map((place) => <Skeleton key={place} h={30} />)}
        {!column && (
          <Text size="sm" c="dimmed">
            Choose a column to see how many rows have each value.
          </Text>
        )}
        {column && groups.data && (
          <>
            <Text size="xs" c="dimmed" role="status">
              {pluralize(groups.data.groupCount, 'group')} in {pluralize(groups.data.rowCount, 'row')}. Click one to see its rows.
            </Text>
            <ul className={classes.groups}>
              {groups.data.groups.map(({ text, value, ...counts }) => row(`v${text}`, text, counts, value === undefined ? undefined : groupFilter(column.id, value)))}
              {groups.data.empty.rowCount > 0 && row('empty', 'Empty', groups.data.empty, groupFilter(column.id, undefined))}
            </ul>
            {groups.data.groupCount > groups.data.groups.length && (
              <Text size="xs" c="dimmed">
                The {formatNumber(groups.data.groups.length)} largest are shown.
              </Text>
            )}
          </>
        )}
      </Stack>
    </SidePanel>
  );
}
