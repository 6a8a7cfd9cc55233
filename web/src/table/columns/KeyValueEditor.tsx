import { ActionIcon, Button, Group, Input, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Column } from '../../api/types';
import { Icon } from '../../ui/Icon';
import { TemplateField } from '../template/TemplateField';

interface Props {
  label: string;
  addLabel: string;
  value: Record<string, string>;
  onChange: (value: Record<string, string>) => void;
  columns: readonly Column[];
  secrets: readonly string[];
}

/** Edits names and their templates, such as headers and query parameters. */
export function KeyValueEditor({ label, addLabel, value, onChange, columns, secrets }: Props) {
  // Lines without a name are not saved, but must not vanish while somebody types.
  const [entries, setEntries] = useState(() => Object.entries(value));
  const set = (next: [string, string][]) => {
    setEntries(next);
    onChange(Object.fromEntries(next.filter(([name]) => name.trim() !== '')));
  };
  const replace = (place: number, entry: [string, string]) => set(entries.map((old, at) => (at === place ? entry : old)));
  return (
    <Stack gap={6}>
      {entries.length > 0 && <Input.Label component="div">{label}</Input.Label>}
      {entries.map(([name, text], place) => (
        <Group key={place} gap={6} wrap="nowrap" align="flex-start">
          <TextInput size="xs" w={130} aria-label={`${label}: name`} placeholder="Name" value={name} onChange={(event) => replace(place, [event.currentTarget.value, text])} />
          <TemplateField
            label={`${label}: value of ${name || 'the new one'}`}
            isLabelHidden
            isSingleLine
            placeholder="Value, or @ for a column"
            value={text}
            columns={columns}
            secrets={secrets}
            onChange={(next) => replace(place, [name, next])}
          />
          <ActionIcon variant="subtle" color="gray" aria-label={`Remove ${name || 'this line'}`} onClick={() => set(entries.filter((_, at) => at !== place))}>
            <Icon name="close" size={15} />
          </ActionIcon>
        </Group>
      ))}
      <div>
        <Button size="compact-sm" variant="subtle" leftSection={<Icon name="plus" size={15} />} onClick={() => set([...entries, ['', '']])}>
          {addLabel}
        </Button>
      </div>
    </Stack>
  );
}
