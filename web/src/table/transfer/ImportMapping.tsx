import { Button, Group, ScrollArea, Select, Stack, Switch, Table, Text } from '@mantine/core';
import { useState } from 'react';
import type { Column } from '../../api/types';
import { fieldNames } from './csv';
import { ENCODINGS } from './encoding';
import { unmark } from './formulas';
import type { Preview } from './preview';
import type { ImportOptions } from './upload';

const NEW = 'new';
const LEFT_OUT = 'out';

interface Props {
  preview: Preview;
  columns: readonly Column[];
  onEncoding: (encoding: string) => void;
  onImport: (options: ImportOptions) => void;
  onBack: () => void;
}

/** Which column each part of the file goes to, beside its first rows. */
export function ImportMapping({ preview, columns, onEncoding, onImport, onBack }: Props) {
  const [hasHeader, setHasHeader] = useState(true);
  const [isForeign] = useState(preview.encoding !== 'utf-8');
  const [isUnmarked, setIsUnmarked] = useState(true);
  const [targets, setTargets] = useState<Record<number, string>>({});
  const [matchOn, setMatchOn] = useState<string | null>(null);
  const rows = isUnmarked && preview.hasMarks ? preview.rows.map((row) => row.map(unmark)) : preview.rows;
  const width = Math.max(...rows.map((row) => row.length));
  const names = Array.from({ length: width }, (_, place) => (hasHeader ? (rows[0]?.[place] ?? '') : `Column ${place + 1}`));
  const body = hasHeader ? rows.slice(1) : rows;
  const writable = columns.filter((column) => column.type !== 'reference');
  const target = (place: number) => targets[place] ?? suggested(names[place] ?? '', writable);
  const used = names.map((_, place) => target(place)).filter((id) => id !== NEW && id !== LEFT_OUT);
  const twins = used.filter((id, place) => used.indexOf(id) !== place);

  const mapping = () => {
    const keys = hasHeader ? fieldNames(names) : names.map((_, place) => String(place));
    const entries = names.map((name, place): [string, string | null] | undefined => {
      const chosen = target(place);
      const key = keys[place] ?? name;
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
      {preview.hasMarks && (
        <Switch
          label="Take off the apostrophes before formulas"
          description="Some cells begin with ' and then =, +, - or @. An export puts the apostrophe there to protect spreadsheets."
          checked={isUnmarked}
          onChange={(event) => setIsUnmarked(event.currentTarget.checked)}
        />
      )}
      {isForeign && (
        <Select
          label="Letters are written for"
          description="If letters look wrong below, choose another one."
          data={ENCODINGS}
          value={preview.encoding}
          allowDeselect={false}
          searchable
          onChange={(encoding) => encoding && onEncoding(encoding)}
        />
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
          onClick={() => onImport({ header: hasHeader, isUnmarked, mapping: mapping(), ...(matchOn && { matchOn }) })}
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
