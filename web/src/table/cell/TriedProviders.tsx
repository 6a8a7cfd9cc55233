import { Badge, Table } from '@mantine/core';
import { formatCost, formatMilliseconds } from '../../ui/format';
import { outcomeOf, type TriedEntry } from './outcomes';
import { useProviderName } from './useProviderName';

/** The providers a waterfall tried, with result, cost and time. */
export function TriedProviders({ entries }: { entries: TriedEntry[] }) {
  const name = useProviderName();
  const hasPrice = entries.some((entry) => formatCost(entry) !== '');
  return (
    <Table verticalSpacing={4} fz="sm" mt="xs">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Provider</Table.Th>
          <Table.Th>Result</Table.Th>
          {hasPrice && <Table.Th ta="right">Cost</Table.Th>}
          <Table.Th ta="right">Time</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {entries.map((entry, place) => {
          const [word, color] = outcomeOf(entry);
          return (
            <Table.Tr key={place}>
              <Table.Td>{name(entry.taskType ?? entry.id ?? '')}</Table.Td>
              <Table.Td>
                <Badge variant="light" color={color}>
                  {word}
                </Badge>
              </Table.Td>
              {hasPrice && <Table.Td ta="right">{formatCost(entry)}</Table.Td>}
              <Table.Td ta="right">{entry.milliseconds !== undefined && formatMilliseconds(entry.milliseconds)}</Table.Td>
            </Table.Tr>
          );
        })}
      </Table.Tbody>
    </Table>
  );
}
