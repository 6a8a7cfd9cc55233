import { ScrollArea, Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';

interface Props {
  /** Column headers. */
  heads: readonly ReactNode[];
  rows: readonly (readonly string[])[];
  columnWidth: number;
  /** What a cell shows, and what is wrong with it. */
  shown?: (text: string, column: number) => { text: string; problem?: string };
  /** Cells that will not be imported. */
  isLeftOut?: (row: number, column: number) => boolean;
}

/** Preview of the first rows of an import or a paste. */
export function PreviewTable({ heads, rows, columnWidth, shown, isLeftOut }: Props) {
  return (
    <ScrollArea type="auto" offsetScrollbars viewportProps={{ tabIndex: 0, 'aria-label': 'The first rows' }}>
      <Table withTableBorder withColumnBorders fz="sm">
        <Table.Thead>
          <Table.Tr>
            {heads.map((head, place) => (
              <Table.Th key={place} miw={columnWidth} style={{ verticalAlign: 'top' }}>
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
                  <PreviewCell isLeftOut={isLeftOut?.(line, place) ?? false} {...(shown?.(row[place] ?? '', place) ?? { text: row[place] ?? '' })} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}

function PreviewCell({ text, problem, isLeftOut }: { text: string; problem?: string; isLeftOut: boolean }) {
  return (
    <Text size="sm" truncate maw={220} title={problem} c={isLeftOut ? 'dimmed' : problem ? 'orange' : undefined} td={isLeftOut ? 'line-through' : undefined}>
      {text}
      {problem && <span aria-label={problem}> ⚠</span>}
    </Text>
  );
}
