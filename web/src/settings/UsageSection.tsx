import { Anchor, Loader, SimpleGrid, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { readUsage } from '../api/operations';
import { ErrorState } from '../ui/ErrorState';
import { formatBytes, formatNumber } from '../ui/format';
import { Card } from './Card';

/** Rows and cells by project, and how many cells have run. */
export function UsageSection() {
  const usage = useQuery({ queryKey: ['usage'], queryFn: readUsage, staleTime: 0 });
  if (usage.isPending) return <Loader size="sm" />;
  if (usage.isError) return <ErrorState error={usage.error} onRetry={() => void usage.refetch()} />;
  const { projects, totals } = usage.data;
  const sums: [string, string][] = [
    ['Projects', formatNumber(projects.length)],
    ['Rows', formatNumber(totals.rows)],
    ...(totals.storedBytes == null ? [] : [['Stored', formatBytes(totals.storedBytes)] as [string, string]]),
    ['Cells done', formatNumber(totals.cells.completed)],
    ['Cells failed', formatNumber(totals.cells.error)],
  ];
  return (
    <Card title="Usage" text="Rows in each project, and cells in columns that run.">
      <SimpleGrid cols={{ base: 2, sm: 5 }}>
        {sums.map(([label, sum]) => (
          <div key={label}>
            <Text size="xl" fw={680}>
              {sum}
            </Text>
            <Text size="sm" c="dimmed">
              {label}
            </Text>
          </div>
        ))}
      </SimpleGrid>
      <Table.ScrollContainer minWidth={520}>
        <Table fz="sm" verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Project</Table.Th>
              {['Rows', 'Done', 'Waiting', 'Failed', 'Skipped'].map((label) => (
                <Table.Th key={label} ta="right">
                  {label}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {projects.map(({ id, name, rows, cells }) => (
              <Table.Tr key={id}>
                <Table.Td>
                  <Anchor component={Link} href={`/projects/${id}`} size="sm">
                    {name}
                  </Anchor>
                </Table.Td>
                {[rows, cells.completed, cells.queued + cells.generating, cells.error, cells.skipped].map((number, place) => (
                  <Table.Td key={place} ta="right">
                    {formatNumber(number)}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Card>
  );
}
