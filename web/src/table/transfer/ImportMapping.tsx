import { Alert, Button, Group, Select, Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import type { Column } from '../../api/types';
import { formatNumber } from '../../ui/format';
import { PreviewTable } from '../../ui/PreviewTable';
import { fieldNames, isTooWide } from './csv';
import { ENCODINGS } from './encoding';
import { unescapeFormula } from './formulas';
import type { Preview } from './preview';
import { FOLLOWS, LEFT_OUT, NEW, suggested, tooWideTitle } from './targets';
import type { ImportOptions } from './upload';

interface Props {
  preview: Preview;
  columns: readonly Column[];
  /** The first column of a table in which nothing is yet, and which nobody has named. */
  unnamed: Column | undefined;
  onEncoding: (encoding: string) => void;
  onImport: (options: ImportOptions) => void;
  onBack: () => void;
}

/** Which column each part of the file goes to, beside its first rows. */
export function ImportMapping({ preview, columns, unnamed, onEncoding, onImport, onBack }: Props) {
  const [hasHeader, setHasHeader] = useState(true);
  const [isForeign] = useState(preview.encoding !== 'utf-8');
  const [isUnmarked, setIsUnmarked] = useState(true);
  const [targets, setTargets] = useState<Record<number, string>>({});
  const [matchOn, setMatchOn] = useState<string | null>(null);
  const rows = isUnmarked && preview.hasMarks ? preview.rows.map((row) => row.map(unescapeFormula)) : preview.rows;
  // A file is as wide as its first line.
  const width = rows[0]?.length ?? 0;
  const names = Array.from({ length: width }, (_, place) => (hasHeader ? (rows[0]?.[place] ?? '') : `Column ${place + 1}`));
  const body = hasHeader ? rows.slice(1) : rows;
  const writable = columns.filter((column) => column.type !== 'reference');
  const suggest = (place: number) => (place === 0 && unnamed ? unnamed.id : suggested(names[place] ?? '', columns));
  const target = (place: number) => targets[place] ?? suggest(place);
  const goesNowhere = (place: number) => target(place) === LEFT_OUT || target(place) === FOLLOWS;
  // It is called what it is filled with.
  const goesFirst = unnamed && hasHeader ? names.findIndex((name, place) => name.trim() !== '' && target(place) === unnamed.id) : -1;
  const labelOf = ({ id, header }: Column) => (id === unnamed?.id ? 'The first column' : header);
  const used = names.map((_, place) => target(place)).filter((id) => id !== NEW && id !== LEFT_OUT && id !== FOLLOWS);
  const twins = used.filter((id, place) => used.indexOf(id) !== place);

  const shown = body.slice(0, 5).map((row) => [...row.slice(0, width), row.slice(width).filter(Boolean).join(' · ')]);
  const isWider = shown.some((row) => row[width] !== '');
  const heads = names.map((name, place) => (
    <div key={place}>
      <Text size="sm" fw={620} mb={4} truncate maw={220}>
        {name || `Column ${place + 1}`}
      </Text>
      <Select
        size="xs"
        aria-label={`Target for ${name || `column ${place + 1}`}`}
        value={target(place)}
        allowDeselect={false}
        searchable
        data={[
          ...(suggest(place) === FOLLOWS
            ? [{ value: FOLLOWS, label: 'Not imported: computed column' }]
            : [
                { value: NEW, label: 'New column' },
                { value: LEFT_OUT, label: 'Skip' },
              ]),
          { group: 'Table columns', items: writable.map((column) => ({ value: column.id, label: labelOf(column) })) },
        ]}
        onChange={(chosen) => chosen && setTargets({ ...targets, [place]: chosen })}
      />
    </div>
  ));

  const mapping = () => {
    const keys = hasHeader ? fieldNames(names) : names.map((_, place) => String(place));
    const entries = names.map((name, place): [string, string | null] | undefined => {
      const chosen = target(place);
      const key = keys[place] ?? name;
      if (goesNowhere(place)) return [key, null];
      return chosen === NEW ? undefined : [key, chosen];
    });
    return Object.fromEntries(entries.filter((entry) => entry !== undefined));
  };

  return (
    <Stack>
      {preview.isCsv && (
        <Switch label="First line contains column names" checked={hasHeader} onChange={(event) => setHasHeader(event.currentTarget.checked)} />
      )}
      {preview.hasMarks && (
        <Switch
          label="Remove apostrophes before formulas"
          description="Some cells start with ' followed by =, +, - or @. Exports add the apostrophe to protect spreadsheets."
          checked={isUnmarked}
          onChange={(event) => setIsUnmarked(event.currentTarget.checked)}
        />
      )}
      {isForeign && (
        <Select
          label="Encoding"
          description="If characters look wrong below, choose another encoding."
          data={ENCODINGS}
          value={preview.encoding}
          allowDeselect={false}
          searchable
          onChange={(encoding) => encoding && onEncoding(encoding)}
        />
      )}
      {preview.wideRows > 0 && <TooWide preview={preview} width={width} hasHeader={hasHeader} />}
      <PreviewTable
        heads={isWider ? [...heads, <TooMany key="more" />] : heads}
        rows={shown}
        columnWidth={170}
        isLeftOut={(row, column) => isTooWide(body[row] ?? [], width) || goesNowhere(column)}
      />
      <Select
        label="Existing rows"
        description="Choose a column to match by. Matching rows are updated instead of added again."
        placeholder="Add every row"
        clearable
        data={writable.filter((column) => used.includes(column.id)).map((column) => ({ value: column.id, label: `Update rows with the same “${column.header}”` }))}
        value={matchOn}
        onChange={setMatchOn}
      />
      {twins.length > 0 && (
        <Text size="sm" c="red">
          Two columns of the file go to the same table column. Choose another one, or skip one.
        </Text>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onBack}>
          Choose another file
        </Button>
        <Button
          disabled={twins.length > 0}
          onClick={() =>
            onImport({
              header: hasHeader,
              isUnmarked,
              mapping: mapping(),
              ...(matchOn && { matchOn }),
              ...(unnamed && goesFirst >= 0 && { renamed: { columnId: unnamed.id, header: (names[goesFirst] ?? '').trim().slice(0, 255) } }),
            })
          }
        >
          Import
        </Button>
      </Group>
    </Stack>
  );
}

/** The service takes no row with cells that nothing is said of, and it is better to know that before. */
function TooWide({ preview, width, hasHeader }: { preview: Preview; width: number; hasHeader: boolean }) {
  return (
    <Alert color="yellow" title={tooWideTitle(preview, hasHeader)}>
      {preview.wideRows === 1 ? 'It has' : 'They have'} more cells than the first line, which has {formatNumber(width)}. Usually a cell contains
      the separator without quotes, or the last column has no name. Fix the file and choose it again, or continue: rejected
      rows are listed at the end.
    </Alert>
  );
}

function TooMany() {
  return (
    <Text size="sm" c="dimmed" fw={400}>
      Too many cells
    </Text>
  );
}
