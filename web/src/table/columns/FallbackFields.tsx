import { Group, Select, TextInput } from '@mantine/core';
import type { Provider } from '../../api/types';
import { useFieldErrors } from '../../ui/fieldErrors';
import type { SectionProps } from './sectionProps';

type Fallback = NonNullable<NonNullable<SectionProps['draft']['aiConfig']>['fallback']>;

interface FallbackProps {
  fallback: Fallback | null;
  models: Provider[];
  onChange: (fallback: Fallback | null) => void;
}

/** The provider and model to ask if the first choice fails. Both empty means none. */
export function FallbackFields({ fallback, models, onChange }: FallbackProps) {
  const errors = useFieldErrors();
  const change = (part: Fallback) => {
    const next = { ...fallback, ...part };
    onChange(next.provider || next.model ? next : null);
  };
  return (
    <Group grow align="flex-start">
      <Select
        label="Fallback provider"
        description="Asked if the first choice fails."
        placeholder="The same provider"
        clearable
        data={models.map(({ id, label, configured }) => ({ value: id, label: configured ? label : `${label} (no key)` }))}
        value={fallback?.provider ?? null}
        error={errors['aiConfig.fallback.provider']}
        onChange={(provider) => change({ provider: provider as Fallback['provider'] })}
      />
      <TextInput
        label="Fallback model"
        description="Both calls are paid for."
        placeholder={fallback?.provider ? 'The provider’s default' : 'None'}
        value={fallback?.model ?? ''}
        error={errors['aiConfig.fallback.model']}
        onChange={(event) => change({ model: event.currentTarget.value || null })}
      />
    </Group>
  );
}
