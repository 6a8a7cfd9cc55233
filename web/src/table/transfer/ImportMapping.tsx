import { Button, Group, ScrollArea, Select, Stack, Switch, Table, Text } from '@mantine/core';
import { useState } from 'react';
import type { Column } from '../../api/types';
import type { Preview } from './preview';
import type { ImportOptions } from './upload';

const NEW = 'new';
const LEFT_OUT = 'out';

interface Props {
  preview: Preview;
  columns: readonly Column[];
  onImport: (options: ImportOptions) => void;
  onBack: () => void;
}

/** Which column each part of the file goes to, beside its first rows. */
export function ImportMapping({ preview, columns, onImport, onBack }: Props) {
  const [hasHeader, setHasHeader] = useState(true);
  const [targets, setTargets] = useState<Record<number, string>>({});
  const [matchOn, setMatchOn] = useState<string | null>(null);
  const width = Math.max(...preview.rows.map((row) => row.length));
  const names = Array.from({ length: width }, (_, place) => (hasHeader ? (preview.rows[0]?.[place] ?? '') : `Column ${place + 1}`));
  const body = hasHeader ? preview.rows.slice(1) : preview.rows;
  const writable = columns.filter((column) => column.type !== 'reference');
  const target = (place: number) => targets[place] ?? suggested(names[place] ?? '', writable);
  const used = names.map((_, place) => target(place)).filter((id) => id !== NEW && id !== LEFT_OUT);
  const twins = used.filter((id, place) => used.indexOf(id) !== place);

  const mapping = () => {
    const entries = names.map((name, place): [string, string | null] | undefined => {
      const chosen = target(place);
      const key = hasHeader ? name : String(place);
      if (chosen === LEFT_OUT) return [key, null];
      return chosen === NEW ? undefined : [key, chosen];
    });
    return Object.fromEntries(entries.filter((entry) => entry !== undefined));
  };

  return (
    <Stack>
      {preview.isCsv && (
        <Switch label="The first line names the columns" checked={hasHeader} onChange={(event) => setHasHeader(event.currentTarget.checked)} />
      )}
      <ScrollArea type="auto" offsetScrollbars>
        <Table withTableBorder withColumnBorders fz="sm">
          <Table.Thead>
            <Table.Tr>
              {names.map((name, place) => (
                <Table.Th key={place} miw={170}>
                  <Text size="sm" fw={620} mb={4} truncate maw={220}>
                    {name || `Column ${place + 1}`}
                  </Text>
                  <Select
                    size="xs"
                    aria-label={`Where ${name || `column ${place + 1}`} goes`}
                    value={target(place)}
                    allowDeselect={false}
                    searchable
                    data={[
                      { value: NEW, label: 'A new column' },
                      { value: LEFT_OUT, label: 'Leave out' },
                      { group: 'Columns of the table', items: writable.map((column) => ({ value: column.id, label: column.header })) },
                    ]}
                    onChange={(chosen) => chosen && setTargets({ ...targets, [place]: chosen })}
                  />
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {body.slice(0, 5).map((row, place) => (
              <Table.Tr key={place}>
                {names.map((_, column) => (
                  <Table.Td key={column} c={target(column) === LEFT_OUT ? 'dimmed' : undefined}>
                    <Text size="sm" truncate maw={220}>
                      {row[column] ?? ''}
                    </Text>
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea>
      <Select
        label="Rows that are there already"
        description="With a column to match by, such rows are updated instead of added once more."
        placeholder="Add every row"
        clearable
        data={writable.filter((column) => used.includes(column.id)).map((column) => ({ value: column.id, label: `Update where “${column.header}” is the same` }))}
        value={matchOn}
        onChange={setMatchOn}
      />
      {twins.length > 0 && (
        <Text size="sm" c="red">
          Two parts of the file go to the same column. Choose another one, or leave one out.
        </Text>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onBack}>
          Another file
        </Button>
        <Button
          disabled={twins.length > 0}
          onClick={() => onImport({ header: hasHeader, mapping: mapping(), ...(matchOn && { matchOn }) })}
        >
          Import
        </Button>
      </Group>
    </Stack>
  );
}

/** The column of the same name, else a new one. */
function suggested(name: string, columns: readonly Column[]): string {
  const wanted = name.trim().toLowerCase();
  return columns.find((column) => column.id === name || column.header.trim().toLowerCase() === wanted)?.id ?? NEW;
}
