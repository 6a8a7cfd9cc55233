import { ActionIcon, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import type { Column, Provider } from '../../api/types';
import { Icon } from '../../ui/Icon';
import { TemplateField } from '../template/TemplateField';
import { type Variant, variantName } from './comparison';

interface Props {
  place: number;
  variant: Variant;
  columns: readonly Column[];
  models: Provider[];
  onChange: (part: Partial<Variant>) => void;
  onRemove: (() => void) | undefined;
}

/** The prompt and the model of one variant. */
export function VariantFields({ place, variant, columns, models, onChange, onRemove }: Props) {
  const name = variantName(place);
  return (
    <Stack gap="xs" role="group" aria-label={name}>
      <Group justify="space-between" h={26}>
        <Text size="sm" fw={620}>
          {name}
        </Text>
        {onRemove && (
          <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`Remove ${name}`} onClick={onRemove}>
            <Icon name="close" size={15} />
          </ActionIcon>
        )}
      </Group>
      <TemplateField label="Prompt" rows={4} value={variant.prompt} columns={columns} onChange={(prompt) => onChange({ prompt })} />
      <Group grow>
        <Select
          label="Provider"
          placeholder="Any"
          clearable
          data={models.map(({ id, label }) => ({ value: id, label }))}
          value={variant.provider ?? null}
          onChange={(provider) => onChange({ provider: provider as Variant['provider'] })}
        />
        <TextInput label="Model" placeholder="The provider’s default" value={variant.model} onChange={(event) => onChange({ model: event.currentTarget.value })} />
      </Group>
    </Stack>
  );
}
