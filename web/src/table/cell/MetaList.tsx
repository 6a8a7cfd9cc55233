import { Anchor, Badge, Table, Text } from '@mantine/core';
import type { Json } from '../../api/types';
import { count, took } from '../../ui/format';

interface Tried {
  provider?: string;
  id?: string;
  outcome?: string;
  milliseconds?: number;
  error?: string;
}

const LABELS: Record<string, string> = {
  provider: 'Provider',
  model: 'Model',
  milliseconds: 'Time',
  inputTokens: 'Tokens read',
  outputTokens: 'Tokens written',
  cost: 'Cost',
  source: 'Source',
  verified: 'Verified',
};

/** Where a value came from. */
export function MetaList({ meta }: { meta: Record<string, Json> }) {
  const { tried, ...facts } = meta;
  return (
    <>
      <Table verticalSpacing={4} horizontalSpacing={0} withRowBorders={false} fz="sm">
        <Table.Tbody>
          {Object.entries(facts).map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Td c="dimmed" w={130}>
                {LABELS[name] ?? name}
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{fact(name, value)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {Array.isArray(tried) && tried.length > 0 && <TriedList tried={tried as Tried[]} />}
    </>
  );
}

function TriedList({ tried }: { tried: Tried[] }) {
  return (
    <Table verticalSpacing={4} fz="sm" mt="xs">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Asked</Table.Th>
          <Table.Th>Outcome</Table.Th>
          <Table.Th ta="right">Time</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {tried.map((entry, place) => (
          <Table.Tr key={place}>
            <Table.Td>{entry.provider ?? entry.id}</Table.Td>
            <Table.Td>
              <Badge variant="light" color={entry.outcome === 'found' ? 'mill' : 'gray'}>
                {(entry.outcome ?? 'asked').replaceAll('_', ' ')}
              </Badge>
            </Table.Td>
            <Table.Td ta="right">{entry.milliseconds !== undefined && `${count(entry.milliseconds)} ms`}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function fact(name: string, value: Json) {
  if (name === 'milliseconds' && typeof value === 'number') return took(value);
  if (typeof value === 'number') return count(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string' && /^https?:\/\//.test(value)) {
    return (
      <Anchor href={value} target="_blank" rel="noreferrer noopener" size="sm">
        {value}
      </Anchor>
    );
  }
  return <Text size="sm">{typeof value === 'string' ? value : JSON.stringify(value)}</Text>;
}
