import { ActionIcon, Button, Group, Input, JsonInput, Select, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Icon } from '../../ui/Icon';
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

/** The shape of an answer, as a list of fields; as JSON Schema where it says more than that. */
export function SchemaEditor({ value, onChange }: Props) {
  const fields = fieldsOf(value);
  const [isRaw, setIsRaw] = useState(fields === undefined);
  const [raw, setRaw] = useState(value ? JSON.stringify(value, null, 2) : '');
  const set = (next: SchemaField[]) => onChange(next.length > 0 ? schemaOf(next) : null);

  if (isRaw || !fields) {
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
        {fields && (
          <Button size="compact-sm" variant="subtle" onClick={() => setIsRaw(false)}>
            Edit as fields
          </Button>
        )}
      </Stack>
    );
  }

  const replace = (place: number, field: SchemaField) => set(fields.map((old, at) => (at === place ? field : old)));
  return (
    <Stack gap={8}>
      <Input.Label component="div">Output fields</Input.Label>
      {fields.map((field, place) => (
        <Group key={place} gap={6} wrap="nowrap">
          <TextInput
            size="xs"
            flex={1}
            aria-label="Field name"
            placeholder="name"
            value={field.name}
            onChange={(event) => replace(place, { ...field, name: event.currentTarget.value })}
          />
          <Select
            size="xs"
            w={130}
            aria-label="Field type"
            data={TYPES}
            value={field.type}
            allowDeselect={false}
            onChange={(type) => type && replace(place, { ...field, type: type as SchemaField['type'] })}
          />
          <TextInput
            size="xs"
            flex={1.4}
            aria-label="Field description"
            placeholder="description"
            value={field.description}
            onChange={(event) => replace(place, { ...field, description: event.currentTarget.value })}
          />
          <ActionIcon variant="subtle" color="gray" aria-label="Remove the field" onClick={() => set(fields.filter((_, at) => at !== place))}>
            <Icon name="close" size={15} />
          </ActionIcon>
        </Group>
      ))}
      <Group gap={6}>
        <Button
          size="xs"
          variant="subtle"
          leftSection={<Icon name="plus" size={15} />}
          onClick={() => set([...fields, { name: '', type: 'string', description: '' }])}
        >
          Add a field
        </Button>
        <Button
          size="xs"
          variant="subtle"
          color="gray"
          onClick={() => {
            setRaw(value ? JSON.stringify(value, null, 2) : '');
            setIsRaw(true);
          }}
        >
          Edit as JSON Schema
        </Button>
      </Group>
    </Stack>
  );
}

function parse(text: string): Schema | null | undefined {
  if (text.trim() === '') return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Schema) : undefined;
  } catch {
    return undefined;
  }
}
