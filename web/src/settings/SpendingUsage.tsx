import { Anchor, Loader, SegmentedControl, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { prefix } from '../api/base';
import { readSpendingUsage } from '../api/operations';
import type { SpendingUsageLine, UsageGroup } from '../api/types';
import { ErrorState } from '../ui/ErrorState';
import { formatDollars, formatNumber } from '../ui/format';
import { Card } from './Card';
import classes from './Spending.module.css';

const GROUPS: { value: UsageGroup; label: string }[] = [
  { value: 'day', label: 'Day' },
  { value: 'project', label: 'Project' },
  { value: 'column', label: 'Column' },
  { value: 'provider', label: 'Provider' },
  { value: 'person', label: 'Person' },
];

/** What was used and spent in the last 30 days. */
export function SpendingUsage() {
  const [group, setGroup] = useState<UsageGroup>('day');
  const usage = useQuery({ queryKey: ['spendingUsage', group], queryFn: () => readSpendingUsage(group), staleTime: 0 });
  return (
    <Card title="Spent" guide="costs" text="Calls, tokens, credits and dollars of the last 30 days. Dollars are those that providers report, else those of the price list.">
      <div className={classes.usageHead}>
        <SegmentedControl className={classes.groups} data={GROUPS} value={group} aria-label="Added up by" onChange={(value) => setGroup(value as UsageGroup)} />
        <Anchor size="sm" href={`${prefix}/v4/usage/spending/export`} download>
          Download CSV
        </Anchor>
      </div>
      {usage.isPending && <Loader size="sm" />}
      {usage.isError && <ErrorState error={usage.error} onRetry={() => void usage.refetch()} />}
      {usage.data?.lines.length === 0 && (
        <Text size="sm" c="dimmed">
          Nothing has run in the last 30 days.
        </Text>
      )}
      {usage.data && usage.data.lines.length > 0 && (
        <Table.ScrollContainer minWidth={600} type="native" tabIndex={0} role="region" aria-label="What was spent">
          <Table fz="sm" verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{GROUPS.find(({ value }) => value === group)?.label}</Table.Th>
                {['Calls', 'Tokens in', 'Of these cached', 'Tokens out', 'Credits', 'Dollars'].map((label) => (
                  <Table.Th key={label} ta="right">
                    {label}
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {usage.data.lines.map((line) => (
                <Line key={lineName(line)} name={lineName(line)} line={line} />
              ))}
              <Line name="All" line={usage.data.totals} />
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Card>
  );
}

type Numbers = Pick<SpendingUsageLine, 'calls' | 'inputTokens' | 'cachedTokens' | 'outputTokens' | 'credits' | 'usd'>;

function Line({ name, line }: { name: string; line: Numbers }) {
  const { calls, inputTokens, cachedTokens, outputTokens, credits, usd } = line;
  const cells = [
    formatNumber(calls),
    formatNumber(inputTokens),
    formatNumber(cachedTokens ?? 0),
    formatNumber(outputTokens),
    credits === undefined ? '' : formatNumber(credits),
    usd === undefined ? '' : formatDollars(usd),
  ];
  return (
    <Table.Tr fw={name === 'All' ? 600 : undefined}>
      <Table.Td>{name}</Table.Td>
      {cells.map((cell, place) => (
        <Table.Td key={place} ta="right">
          {cell}
        </Table.Td>
      ))}
    </Table.Tr>
  );
}

function lineName({ day, project, projectId, column, columnId, provider, person }: SpendingUsageLine): string {
  const inProject = project ?? (projectId && 'a deleted project');
  if (columnId) return `${column ?? 'a deleted column'} in ${inProject}`;
  return day ?? inProject ?? (provider || person || 'unknown');
}
