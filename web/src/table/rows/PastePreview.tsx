import { ScrollArea, Table, Text } from '@mantine/core';
import type { Block, Destination } from './pasteBlock';

const ROWS_SHOWN = 4;
const COLUMNS_SHOWN = 60;

/** The first rows of a paste under the columns they will stand in. */
export function PastePreview({ goals, body }: { goals: readonly Destination[]; body: Block }) {
  const shown = goals.slice(0, COLUMNS_SHOWN);
  return (
    <ScrollArea type="auto" offsetScrollbars viewportProps={{ tabIndex: 0 }}>
      <Table withTableBorder withColumnBorders fz="sm">
        <Table.Thead>
          <Table.Tr>
            {shown.map(({ header, columnId }, place) => (
              <Table.Th key={place} miw={110}>
                <Text size="sm" fw={620} truncate maw={200}>
                  {header}
                </Text>
                <Text size="xs" c="dimmed" fw={400} style={{ whiteSpace: 'nowrap' }}>
                  {columnId === undefined ? 'New column' : 'Fills this column'}
                </Text>
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {body.slice(0, ROWS_SHOWN).map((line, row) => (
            <Table.Tr key={row}>
              {shown.map((_, place) => (
                <Table.Td key={place}>
                  <Text size="sm" truncate maw={200}>
                    {line[place] ?? ''}
                  </Text>
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}
