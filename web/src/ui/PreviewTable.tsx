import { ScrollArea, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';

interface Props {
  /** Column headers. */
  heads: readonly ReactNode[];
  rows: readonly (readonly string[])[];
  columnWidth: number;
  /** Cells that will not be imported. */
  isLeftOut?: (row: number, column: number) => boolean;
}

/** Preview of the first rows of an import or a paste. */
export function PreviewTable({ heads, rows, columnWidth, isLeftOut }: Props) {
  return (
    <ScrollArea type="auto" offsetScrollbars viewportProps={{ tabIndex: 0, 'aria-label': 'The first rows' }}>
      <Table withTableBorder withColumnBorders fz="sm">
        <Table.Thead>
          <Table.Tr>
            {heads.map((head, place) => (
              <Table.Th key={place} miw={columnWidth}>
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, line) => (
            <Table.Tr key={line}>
              {heads.map((_, place) => (
                <Table.Td key={place}>
                  <Text size="sm" truncate maw={220} c={isLeftOut?.(line, place) ? 'dimmed' : undefined} td={isLeftOut?.(line, place) ? 'line-through' : undefined}>
                    {row[place] ?? ''}
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
