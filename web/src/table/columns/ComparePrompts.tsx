import { Alert, Button, Group, Modal, NumberInput, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '../../api/error';
import { compareColumn } from '../../api/operations';
import type { Column, Comparison, Provider, Row } from '../../api/types';
import { Icon } from '../../ui/Icon';
import type { Table } from '../state/useTable';
import { CompareTable } from './CompareTable';
import { type AiConfig, compareBody, COMPARED_ROWS_MAX, type CompareForm, sampleRows, SCORINGS, type Scoring, variantOf, VARIANTS_MAX } from './comparison';
import type { ColumnDraft } from './draft';
import { nameOf } from './rowName';
import { VariantFields } from './VariantFields';

/** Rows that are looked through for expected answers. */
const SEARCHED_ROWS = 200;

interface Props {
  table: Table;
  draft: ColumnDraft;
  columns: readonly Column[];
  columnId: string | undefined;
  models: Provider[];
  onUse: (config: AiConfig) => void;
}

/** Compares several prompts and models of an AI column side by side. */
export function ComparePrompts(props: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const config = props.draft.aiConfig ?? {};
  const [form, setForm] = useState<CompareForm>();
  const open = () => {
    const variant = variantOf(config);
    // What was compared before is kept; the first variant is the column as it is now.
    setForm((old) =>
      old
        ? { ...old, variants: [variant, ...old.variants.slice(1)] }
        : { variants: [variant, variant], rows: 5, expectedId: '', scoring: 'exact', judgeModel: '' },
    );
    setIsOpen(true);
  };
  return (
    <>
      <Group gap="xs">
        <Button size="xs" variant="default" leftSection={<Icon name="spark" size={15} />} onClick={open}>
          Compare prompts
        </Button>
        <Text size="xs" c="dimmed">
          Try several prompts or models side by side.
        </Text>
      </Group>
      {isOpen && form && (
        <CompareDialog {...props} form={form} onChange={(part) => setForm({ ...form, ...part })} onClose={() => setIsOpen(false)} />
      )}
    </>
  );
}

interface DialogProps extends Props {
  form: CompareForm;
  onChange: (part: Partial<CompareForm>) => void;
  onClose: () => void;
}

function CompareDialog(props: DialogProps) {
  const { columns, models, form, onChange, onClose, onUse } = props;
  const compare = useCompare(props);
  const isComplete = form.variants.every(({ prompt }) => prompt.trim() !== '');
  const setVariant = (place: number, part: Partial<CompareForm['variants'][number]>) =>
    onChange({ variants: form.variants.map((variant, index) => (index === place ? { ...variant, ...part } : variant)) });
  return (
    <Modal opened onClose={onClose} title="Compare prompts" size="72rem" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack gap="md">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {form.variants.map((variant, place) => (
            <VariantFields
              key={place}
              place={place}
              variant={variant}
              columns={columns}
              models={models}
              onChange={(part) => setVariant(place, part)}
              onRemove={form.variants.length > 1 ? () => onChange({ variants: form.variants.filter((_, index) => index !== place) }) : undefined}
            />
          ))}
        </SimpleGrid>
        <Group>
          <Button
            size="xs"
            variant="default"
            leftSection={<Icon name="plus" size={14} />}
            disabled={form.variants.length >= VARIANTS_MAX}
            onClick={() => onChange({ variants: [...form.variants, ...form.variants.slice(-1)] })}
          >
            Add variant
          </Button>
        </Group>
        <SampleFields columns={columns} form={form} onChange={onChange} />
        <Group gap="sm">
          <Button loading={compare.isPending} disabled={!isComplete} onClick={() => compare.mutate()}>
            Compare
          </Button>
          <Text size="xs" c="dimmed">
            Nothing is saved. The calls are paid like those of a run.
          </Text>
        </Group>
        <div role="status">
          {compare.isError && (
            <Alert color="red" title="The prompts could not be compared">
              {errorMessage(compare.error)}
            </Alert>
          )}
          {compare.data && (
            <CompareTable
              {...compare.data}
              onUse={(variant) => {
                onUse(variant.aiConfig);
                onClose();
              }}
            />
          )}
        </div>
      </Stack>
    </Modal>
  );
}

/** Sends the variants to be compared on rows of the current view. */
function useCompare({ table, draft, columnId, form }: DialogProps) {
  return useMutation({
    mutationFn: async (): Promise<{ comparison: Comparison; names: Map<string, string> }> => {
      const { expectedId, rows: count } = form;
      const searched = expectedId ? SEARCHED_ROWS : count;
      const rows: Row[] = sampleRows(await table.store.rowsBetween(0, Math.min(searched, table.total ?? searched)), expectedId, count);
      const body = compareBody(draft, columnId, form, rows.map(({ id }) => id));
      const comparison = await compareColumn(table.project.id, body);
      return { comparison, names: new Map(rows.map((row) => [row.id, nameOf(row, table.columns)])) };
    },
  });
}

/** On how many rows, and against which answers. */
function SampleFields({ columns, form, onChange }: Pick<DialogProps, 'columns' | 'form' | 'onChange'>) {
  return (
    <Group align="flex-start">
      <NumberInput
        label="Rows"
        description={`At most ${COMPARED_ROWS_MAX}.`}
        w={90}
        min={1}
        max={COMPARED_ROWS_MAX}
        value={form.rows}
        onChange={(value) => onChange({ rows: Math.min(Math.max(1, Number(value) || 1), COMPARED_ROWS_MAX) })}
      />
      <Select
        label="Expected answers"
        description="A column with the right answers."
        placeholder="None"
        clearable
        searchable
        w={230}
        data={columns.map(({ id, header }) => ({ value: id, label: header }))}
        value={form.expectedId || null}
        onChange={(expectedId) => onChange({ expectedId: expectedId ?? '' })}
      />
      {form.expectedId && (
        <Select
          label="Score"
          description="When an answer counts as right."
          allowDeselect={false}
          w={230}
          data={SCORINGS}
          value={form.scoring}
          onChange={(scoring) => onChange({ scoring: scoring as Scoring })}
        />
      )}
      {form.expectedId && form.scoring === 'judge' && (
        <TextInput
          label="Model that judges"
          description="It is paid, too."
          placeholder="As variant A"
          w={200}
          value={form.judgeModel}
          onChange={(event) => onChange({ judgeModel: event.currentTarget.value })}
        />
      )}
    </Group>
  );
}
