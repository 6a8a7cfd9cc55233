import { Alert, Button, Group, Select, Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import type { Column, Format, FormatType } from '../../api/types';
import { formatNumber } from '../../ui/format';
import { Icon } from '../../ui/Icon';
import { PreviewTable } from '../../ui/PreviewTable';
import { PLAIN } from '../display/columnStyle';
import { displayOf } from '../display/display';
import { misfitText, TYPE_CHOICES, TYPES } from '../formats/format';
import { isMisfit } from '../formats/reading';
import { isTooWide } from './csv';
import { ENCODINGS } from './encoding';
import type { Preview } from './preview';
import { FOLLOWS, LEFT_OUT, NEW, tooWideTitle } from './targets';
import type { ImportOptions } from './upload';
import { type ImportMappingState, useImportMapping } from './useImportMapping';

const ROWS_SHOWN = 5;

interface Props {
  preview: Preview;
  columns: readonly Column[];
  /** The first column of an empty table, if nobody has named it yet. */
  unnamed: Column | undefined;
  onEncoding: (encoding: string) => void;
  onImport: (options: ImportOptions) => void;
  onBack: () => void;
}

/** Maps each column of the file to a column of the table, above a preview of the first rows. */
export function ImportMapping({ preview, columns, unnamed, onEncoding, onImport, onBack }: Props) {
  const mapping = useImportMapping(preview, columns, unnamed);
  const { width, body } = mapping;
  const writable = columns.filter((column) => column.type !== 'reference');
  const shown = body.slice(0, ROWS_SHOWN).map((row) => [...row.slice(0, width), row.slice(width).filter(Boolean).join(' · ')]);
  const isWider = shown.some((row) => row[width] !== '');
  const targets = writable.map(({ id, header }) => ({ value: id, label: id === unnamed?.id ? 'The first column' : header }));
  const heads = mapping.names.map((_, place) => <TargetSelect key={place} mapping={mapping} place={place} targets={targets} />);

  return (
    <Stack>
      <FileSettings preview={preview} mapping={mapping} onEncoding={onEncoding} />
      {preview.wideRows > 0 && <TooWide preview={preview} width={width} hasHeader={mapping.hasHeader} />}
      <PreviewTable
        heads={isWider ? [...heads, <TooMany key="more" />] : heads}
        rows={shown}
        columnWidth={190}
        shown={(text, column) => shownAs(text, mapping.formatAt(column))}
        isLeftOut={(row, column) => isTooWide(body[row] ?? [], width) || mapping.isSkipped(column)}
      />
      <Select
        label="Existing rows"
        description="Choose a column to match by. Matching rows are updated instead of added again."
        placeholder="Add every row"
        clearable
        data={writable.filter(({ id }) => mapping.isUsed(id)).map(({ id, header }) => ({ value: id, label: `Update rows with the same “${header}”` }))}
        value={mapping.matchOn}
        onChange={mapping.setMatchOn}
      />
      {mapping.hasDuplicates && (
        <Text size="sm" c="red">
          Two columns of the file go to the same table column. Choose another one, or skip one.
        </Text>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onBack}>
          Choose another file
        </Button>
        <Button disabled={mapping.hasDuplicates} onClick={() => onImport(mapping.options())}>
          Import
        </Button>
      </Group>
    </Stack>
  );
}

interface SettingsProps {
  preview: Preview;
  mapping: ImportMappingState;
  onEncoding: (encoding: string) => void;
}

/** How to read the file. Shows only the settings that matter for this file. */
function FileSettings({ preview, mapping, onEncoding }: SettingsProps) {
  // Stays visible after the user has chosen UTF-8.
  const [canChooseEncoding] = useState(preview.encoding !== 'utf-8');
  return (
    <>
      {preview.isCsv && (
        <Switch
          label="First line contains column names"
          checked={mapping.hasHeader}
          onChange={(event) => mapping.setHasHeader(event.currentTarget.checked)}
        />
      )}
      {preview.hasMarks && (
        <Switch
          label="Remove apostrophes before formulas"
          description="Some cells start with ' followed by =, +, - or @. Exports add the apostrophe to protect spreadsheets."
          checked={mapping.isUnmarked}
          onChange={(event) => mapping.setIsUnmarked(event.currentTarget.checked)}
        />
      )}
      {canChooseEncoding && (
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
    </>
  );
}

interface TargetProps {
  mapping: ImportMappingState;
  /** Index of the column in the file. */
  place: number;
  targets: { value: string; label: string }[];
}

/** Head of a preview column: its name in the file and the choice of its target. */
function TargetSelect({ mapping, place, targets }: TargetProps) {
  const name = mapping.names[place];
  const fixed = [{ value: FOLLOWS, label: 'Not imported: computed column' }];
  const free = [
    { value: NEW, label: 'New column' },
    { value: LEFT_OUT, label: 'Skip' },
  ];
  return (
    <div>
      <Text size="sm" fw={620} mb={4} truncate maw={220}>
        {name || `Column ${place + 1}`}
      </Text>
      <Select
        size="xs"
        aria-label={`Target for ${name || `column ${place + 1}`}`}
        value={mapping.target(place)}
        allowDeselect={false}
        searchable
        data={[...(mapping.suggest(place) === FOLLOWS ? fixed : free), { group: 'Table columns', items: targets }]}
        onChange={(columnId) => columnId && mapping.setTarget(place, columnId)}
      />
      {mapping.isTyped(place) && <TypeSelect mapping={mapping} place={place} name={name} />}
    </div>
  );
}

interface TypeProps {
  mapping: ImportMappingState;
  place: number;
  name: string | undefined;
}

/** The type of a new column's values: guessed, until somebody chooses another. */
function TypeSelect({ mapping, place, name }: TypeProps) {
  const guessed = mapping.guessAt(place)?.type;
  return (
    <Select
      size="xs"
      mt={4}
      styles={{ input: { textOverflow: 'ellipsis' } }}
      aria-label={`Type of ${name || `column ${place + 1}`}`}
      value={mapping.formatAt(place)?.type ?? 'none'}
      allowDeselect={false}
      maxDropdownHeight={320}
      leftSection={<Icon name={TYPES[mapping.formatAt(place)?.type ?? 'text'].icon} size={14} />}
      data={[{ value: 'none', label: 'Automatic' }, ...TYPE_CHOICES.map(({ value, label }) => ({ value, label: value === guessed ? `${label} (guessed)` : label }))]}
      onChange={(type) => type && mapping.setType(place, type as FormatType | 'none')}
    />
  );
}

/** A value as the column will show it; one that does not fit is marked. */
function shownAs(text: string, format: Format | undefined): { text: string; problem?: string } {
  if (!format || text === '') return { text };
  if (isMisfit(text, format)) return { text, problem: misfitText(format) };
  const { kind, text: shown } = displayOf(text, { ...PLAIN, format });
  return { text: kind === 'link' || kind === 'email' || kind === 'rating' ? text : shown };
}

/** Warns before the import that the service will reject rows with more cells than the first line. */
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
