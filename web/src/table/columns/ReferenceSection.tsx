import { NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useFieldErrors } from '../../ui/fieldErrors';
import { JsonTree } from '../cell/JsonTree';
import { missingPart } from '../cell/missingPart';
import { isJson } from '../model/values';
import { useSampleRow } from './sampleRow';
import type { SectionProps } from './sectionProps';

/** Settings of a reference column: source column and path, chosen by clicking in a sample. */
export function ReferenceSection({ table, draft, columns, onChange }: SectionProps) {
  const sample = useSampleRow(table);
  const errors = useFieldErrors();
  const config = draft.referenceConfig ?? { columnId: '', path: '' };
  const source = sample.row?.cells[config.columnId]?.value ?? null;
  const missing = missingPart(source, config.path);
  const change = (part: Partial<typeof config>) => onChange({ referenceConfig: { ...config, ...part } });
  return (
    <Stack gap="md">
      <Select
        label="Source column"
        placeholder="Choose a column"
        searchable
        data={columns.map((column) => ({ value: column.id, label: column.header }))}
        value={config.columnId || null}
        error={errors['referenceConfig.columnId']}
        onChange={(columnId) => change({ columnId: columnId ?? '' })}
      />
      <TextInput
        label="Path"
        description="For example items[0].name, or JSONPath. $ is the whole value."
        placeholder="company.name"
        classNames={{ input: 'mono' }}
        value={config.path}
        error={errors['referenceConfig.path']}
        onChange={(event) => change({ path: event.currentTarget.value })}
      />
      {config.columnId && (
        <Stack gap={6}>
          <NumberInput
            size="xs"
            w={150}
            label="Sample from row"
            min={1}
            max={Math.max(1, sample.total)}
            value={sample.number}
            onChange={(value) => sample.setNumber(Math.max(1, Number(value) || 1))}
          />
          {isJson(source) ? (
            <>
              {missing && (
                <Text size="sm" c="orange" role="status">
                  {missing}
                </Text>
              )}
              <Text size="sm">Click the part to keep:</Text>
              <JsonTree value={source} chosen={config.path} onChoose={(path) => change({ path })} />
            </>
          ) : (
            <Text size="sm" c="dimmed">
              {source === null
                ? 'The source cell of this row is empty. Run that column first, or choose another row.'
                : 'The source cell of this row is plain text, which has no parts. Enter $ to use the whole text.'}
            </Text>
          )}
        </Stack>
      )}
    </Stack>
  );
}
