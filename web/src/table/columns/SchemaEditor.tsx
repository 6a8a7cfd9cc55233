import { ActionIcon, Button, Group, Input, JsonInput, Select, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { parseJson, stringifyJson } from '../../api/exactNumber';
import type { Json } from '../../api/types';
import { Icon } from '../../ui/Icon';
import { isJson } from '../model/values';
import { fieldsOf, type SchemaField, schemaOf } from './schemaFields';

type Schema = Record<string, unknown>;

const TYPES = [
  { value: 'string', label: 'Text' },
  { value: 'number', label: 'Number' },
  { value: 'boolean', label: 'Yes or no' },
  { value: 'array', label: 'List of texts' },
];

interface Props {
  value: Schema | undefined;
  onChange: (schema: Schema | null) => void;
}

/** Edits the output schema as a list of fields, or as JSON Schema if a list cannot express it. */
export function SchemaEditor({ value, onChange }: Props) {
  const fields = fieldsOf(value);
  const [isRaw, setIsRaw] = useState(fields === undefined);
  if (isRaw || !fields) return <RawSchema value={value} onChange={onChange} onEditFields={fields && (() => setIsRaw(false))} />;
  return <SchemaFields fields={fields} onChange={(next) => onChange(next.length > 0 ? schemaOf(next) : null)} onEditRaw={() => setIsRaw(true)} />;
}

interface FieldsProps {
  fields: readonly SchemaField[];
  onChange: (fields: SchemaField[]) => void;
  onEditRaw: () => void;
}

function SchemaFields({ fields, onChange, onEditRaw }: FieldsProps) {
  const replace = (place: number, field: SchemaField) => onChange(fields.map((old, at) => (at === place ? field : old)));
  const remove = (place: number) => onChange(fields.filter((_, at) => at !== place));
  return (
    <Stack gap={8}>
      <Input.Label component="div">Output fields</Input.Label>
      {fields.map((field, place) => (
        <FieldRow key={place} field={field} onChange={(changed) => replace(place, changed)} onRemove={() => remove(place)} />
      ))}
      <Group gap={6}>
        <Button
          size="xs"
          variant="subtle"
          leftSection={<Icon name="plus" size={15} />}
          onClick={() => onChange([...fields, { name: '', type: 'string', description: '' }])}
        >
          Add a field
        </Button>
        <Button size="xs" variant="subtle" color="gray" onClick={onEditRaw}>
          Edit as JSON Schema
        </Button>
      </Group>
    </Stack>
  );
}

interface RowProps {
  field: SchemaField;
  onChange: (field: SchemaField) => void;
  onRemove: () => void;
}

function FieldRow({ field, onChange, onRemove }: RowProps) {
  return (
    <Group gap={6} wrap="nowrap">
      <TextInput
        size="xs"
        flex={1}
        aria-label="Field name"
        placeholder="name"
        value={field.name}
        onChange={(event) => onChange({ ...field, name: event.currentTarget.value })}
      />
      <Select
        size="xs"
        w={130}
        aria-label="Field type"
        data={TYPES}
        value={field.type}
        allowDeselect={false}
        onChange={(type) => type && onChange({ ...field, type: type as SchemaField['type'] })}
      />
      <TextInput
        size="xs"
        flex={1.4}
        aria-label="Field description"
        placeholder="description"
        value={field.description}
        onChange={(event) => onChange({ ...field, description: event.currentTarget.value })}
      />
      <ActionIcon variant="subtle" color="gray" aria-label="Remove the field" onClick={onRemove}>
        <Icon name="close" size={15} />
      </ActionIcon>
    </Group>
  );
}

interface RawProps extends Props {
  onEditFields?: () => void;
}

function RawSchema({ value, onChange, onEditFields }: RawProps) {
  const [raw, setRaw] = useState(value ? stringifyJson(value, 2) : '');
  return (
    <Stack gap={6}>
      <JsonInput
        label="Output schema (JSON Schema)"
        autosize
        minRows={6}
        maxRows={16}
        value={raw}
        validationError="This is not valid JSON."
        onChange={(text) => {
          setRaw(text);
          const schema = parse(text);
          if (schema !== undefined) onChange(schema);
        }}
      />
      {onEditFields && (
        <Button size="compact-sm" variant="subtle" onClick={onEditFields}>
          Edit as fields
        </Button>
      )}
    </Stack>
  );
}

function parse(text: string): Schema | null | undefined {
  if (text.trim() === '') return null;
  try {
    const value = parseJson(text) as Json;
    return isJson(value) ? (value as Schema) : undefined;
  } catch {
    return undefined;
  }
}
