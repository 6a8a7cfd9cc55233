import { Anchor, Input, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { projectQuery, projectsQuery } from '../../api/queries';
import type { Column, FanOut, Json } from '../../api/types';
import { useFieldErrors } from '../../ui/fieldErrors';
import { fillable, findList, guessMapping, itemsAt, readList, writeList } from './fanOut';
import { TemplateField } from '../template/TemplateField';
import { sampleValues } from './sampleValues';
import type { SectionProps } from './sectionProps';

const PATH = 'taskConfig.fanOut';

/** Settings of a column that turns the items of a list into rows of another table. */
export function FanOutSection({ table, draft, columns, onChange }: SectionProps) {
  const errors = useFieldErrors();
  const queryClient = useQueryClient();
  const projects = useQuery(projectsQuery);
  const config = draft.fanOut;
  const target = useQuery({ ...projectQuery(config?.targetProjectId ?? ''), enabled: Boolean(config?.targetProjectId) });
  if (!config) return null;
  const source = readList(config.list);
  const others = (projects.data ?? []).filter(({ id }) => id !== table.project.id);
  const targetColumns = (target.data?.columns ?? []) as Column[];

  /** Fills the mapping as long as nobody has. */
  const change = (part: Partial<FanOut>, into: readonly Column[]) => {
    const next = { ...config, ...part };
    const isEmpty = Object.values(next.mapping).every((text) => !text.trim());
    const guess = isEmpty ? guessMapping(sampleItems(table, next.list), into) : undefined;
    onChange({ fanOut: { ...next, ...(guess && { mapping: { ...next.mapping, ...guess.mapping }, matchOn: guess.matchOn }) } });
  };
  const chooseTarget = async (targetProjectId: string) => {
    const found = targetProjectId ? await queryClient.fetchQuery(projectQuery(targetProjectId)).catch(() => undefined) : undefined;
    // Entries without a text are removed when the column is saved.
    const emptied = Object.fromEntries(Object.keys(config.mapping).map((id) => [id, '']));
    change({ targetProjectId, mapping: emptied, matchOn: '' }, (found?.columns ?? []) as Column[]);
  };

  return (
    <Stack gap="md">
      <Select
        label="Column with the list"
        placeholder="Choose a column"
        searchable
        data={columns.map(({ id, header }) => ({ value: id, label: header }))}
        value={source.columnId || null}
        error={errors[`${PATH}.list`]}
        onChange={(columnId) => change({ list: writeList({ columnId: columnId ?? '', path: firstList(table, columnId ?? '') }) }, targetColumns)}
      />
      <TextInput
        label="Path to the list"
        description="Such as pages or data.items. Empty: the whole value is the list."
        classNames={{ input: 'mono' }}
        disabled={!source.columnId}
        value={source.path}
        onChange={(event) => change({ list: writeList({ ...source, path: event.currentTarget.value }) }, targetColumns)}
      />
      <Select
        label="Target table"
        description={target.isError ? 'This table was deleted, or you cannot see it. Choose another.' : 'Each item becomes a row there.'}
        placeholder="Choose another table"
        searchable
        data={others.map(({ id, title }) => ({ value: id, label: title }))}
        value={config.targetProjectId || null}
        error={errors[`${PATH}.targetProjectId`]}
        onChange={(id) => void chooseTarget(id ?? '')}
      />
      {target.data && <Mapping config={config} target={targetColumns} columns={columns} onChange={(part) => onChange({ fanOut: { ...config, ...part } })} />}
      <LimitInput config={config} error={errors[`${PATH}.limit`]} onChange={(part) => onChange({ fanOut: { ...config, ...part } })} />
      {target.data && (
        <Anchor component={Link} href={`/projects/${config.targetProjectId}`} size="sm" underline="always">
          Open {target.data.title}
        </Anchor>
      )}
    </Stack>
  );
}

interface LimitInputProps {
  config: FanOut;
  error: ReactNode;
  onChange: (part: Partial<FanOut>) => void;
}

function LimitInput({ config, error, onChange }: LimitInputProps) {
  return (
    <NumberInput
      label="Maximum number of items"
      description="A longer list is an error, and nothing is written."
      min={1}
      max={10_000}
      allowDecimal={false}
      value={config.limit}
      error={error}
      onChange={(limit) => typeof limit === 'number' && onChange({ limit })}
    />
  );
}

interface MappingProps {
  config: FanOut;
  target: readonly Column[];
  /** The columns of the list’s row. */
  columns: readonly Column[];
  onChange: (part: Partial<FanOut>) => void;
}

/** What fills each column of the target, and the column by which rows are found again. */
function Mapping({ config, target, columns, onChange }: MappingProps) {
  const errors = useFieldErrors();
  const { mapping } = config;
  const mapped = target.filter(({ id }) => mapping[id]?.trim());
  return (
    <>
      <Stack gap={8}>
        <Input.Label component="div">Columns to fill</Input.Label>
        <Text size="xs" c="dimmed">
          $.name is a field of the item, and $ the whole item. Type @ for a column of this row. Empty: not filled.
        </Text>
        {fillable(target, mapping).map(({ id, header }) => (
          <TemplateField
            key={`${config.targetProjectId} ${id}`}
            label={header}
            placeholder="$.field, or @ for a column"
            isSingleLine
            value={mapping[id] ?? ''}
            columns={columns}
            error={errors[`${PATH}.mapping.${id}`]}
            onChange={(text) => onChange({ mapping: { ...mapping, [id]: text } })}
          />
        ))}
        {errors[`${PATH}.mapping`] && <Input.Error role="alert">{errors[`${PATH}.mapping`]}</Input.Error>}
      </Stack>
      <Select
        label="Find rows again by"
        description="An item with the same value updates its row. Items without a value here are left out."
        placeholder="Choose a column"
        data={mapped.map(({ id, header }) => ({ value: id, label: header }))}
        value={config.matchOn || null}
        error={errors[`${PATH}.matchOn`]}
        onChange={(matchOn) => onChange({ matchOn: matchOn ?? '' })}
      />
    </>
  );
}

type SampledTable = Parameters<typeof sampleValues>[0];

/** The items of the first row that has any. */
function sampleItems(table: SampledTable, list: string): Json[] {
  const { columnId, path } = readList(list);
  const lists = sampleValues(table, columnId).map((value) => itemsAt(value, path));
  return lists.find((items) => items && items.length > 0) ?? [];
}

/** The path to the list in a column’s values. */
function firstList(table: SampledTable, columnId: string): string {
  return sampleValues(table, columnId).map(findList).find((path) => path !== undefined) ?? '';
}
