import { Alert, Anchor, Collapse, Group, NumberInput, Select, Stack, TextInput, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { providersQuery } from '../../api/queries';
import type { Provider } from '../../api/types';
import { useFieldErrors } from '../../ui/fieldErrors';
import { Icon } from '../../ui/Icon';
import { TemplateField } from '../template/TemplateField';
import { AttachmentsField } from './AttachmentsField';
import { ComparePrompts } from './ComparePrompts';
import { FallbackFields } from './FallbackFields';
import { ProcessingField } from './ProcessingField';
import { ResearchFields } from './ResearchFields';
import { SchemaEditor } from './SchemaEditor';
import type { SectionProps } from './sectionProps';

type AiConfig = NonNullable<SectionProps['draft']['aiConfig']>;

/** Settings of an AI column. */
export function AiSection({ table, draft, columns, column, onChange }: SectionProps) {
  const providers = useQuery(providersQuery);
  const errors = useFieldErrors();
  const config: AiConfig = draft.aiConfig ?? {};
  const change = (part: Partial<AiConfig>) => onChange({ aiConfig: { ...config, ...part } });
  const models = providers.data?.filter((provider) => provider.kind === 'ai') ?? [];
  const isReady = models.some((provider) => provider.configured);

  return (
    <Stack gap="md">
      {providers.data && !isReady && (
        <Alert color="yellow" title="No model is set up yet" variant="light">
          Add an AI provider’s key, or the URL of your own server, under{' '}
          <Anchor component={Link} href="/settings/providers" size="sm" underline="always">
            Settings, Providers
          </Anchor>
          .
        </Alert>
      )}
      <TemplateField
        label="Prompt"
        description="Type @ to insert a column’s value."
        placeholder={draft.templateId === 'ai-research' ? 'Who leads @…? Answer with the name only.' : 'Write one friendly sentence to @…'}
        rows={6}
        value={config.prompt ?? ''}
        error={errors['aiConfig.prompt']}
        columns={columns}
        onChange={(prompt) => change({ prompt })}
      />
      <AttachmentsField attachments={config.attachments ?? []} columns={columns} onChange={(attachments) => change({ attachments })} />
      {draft.templateId !== 'ai-text' && (
        <SchemaEditor value={config.outputSchema ?? undefined} onChange={(outputSchema) => change({ outputSchema })} />
      )}
      {draft.templateId === 'ai-research' && (
        <ResearchFields research={config.research ?? {}} providers={providers.data ?? []} onChange={(research) => change({ research })} />
      )}
      <Group grow align="flex-start">
        <Select
          label="Provider"
          placeholder="Any configured provider"
          clearable
          data={models.map(({ id, label, configured }) => ({ value: id, label: configured ? label : `${label} (no key)` }))}
          value={config.provider ?? null}
          onChange={(provider) => change({ provider: provider as 'openai' | 'anthropic' | null })}
        />
        <TextInput
          label="Model"
          placeholder="The provider’s default"
          value={config.model ?? ''}
          error={errors['aiConfig.model']}
          onChange={(event) => change({ model: event.currentTarget.value || null })}
        />
      </Group>
      {draft.templateId !== 'ai-research' && (
        <ProcessingField processing={config.processing ?? 'realtime'} onChange={(processing) => change({ processing })} />
      )}
      <ModelOptions config={config} columns={columns} models={models} onChange={change} />
      <ComparePrompts table={table} draft={draft} columns={columns} columnId={column?.id} models={models} onUse={(aiConfig) => onChange({ aiConfig })} />
    </Stack>
  );
}

interface OptionsProps {
  config: AiConfig;
  columns: SectionProps['columns'];
  models: Provider[];
  onChange: (part: Partial<AiConfig>) => void;
}

/** System prompt, temperature, maximum length and fallback, collapsed by default. */
function ModelOptions({ config, columns, models, onChange }: OptionsProps) {
  const [isOpen, setIsOpen] = useState(false);
  const errors = useFieldErrors();
  return (
    <>
      <UnstyledButton onClick={() => setIsOpen(!isOpen)} aria-expanded={isOpen} fz="sm" c="dimmed">
        <Group gap={6}>
          <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={15} />
          System prompt, temperature, length, fallback
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen} keepMounted={false}>
        <Stack gap="md">
          <TemplateField
            label="System prompt"
            description="Instructions for every row."
            rows={3}
            value={config.system ?? ''}
            error={errors['aiConfig.system']}
            columns={columns}
            onChange={(system) => onChange({ system: system || null })}
          />
          <Group grow>
            <NumberInput
              label="Temperature"
              min={0}
              max={2}
              step={0.1}
              placeholder="Default"
              value={config.temperature ?? ''}
              error={errors['aiConfig.temperature']}
              onChange={(value) => onChange({ temperature: value === '' ? null : Number(value) })}
            />
            <NumberInput
              label="Maximum tokens"
              min={1}
              placeholder="Default"
              value={config.maxTokens ?? ''}
              error={errors['aiConfig.maxTokens']}
              onChange={(value) => onChange({ maxTokens: value === '' ? null : Number(value) })}
            />
          </Group>
          <FallbackFields fallback={config.fallback ?? null} models={models} onChange={(fallback) => onChange({ fallback })} />
        </Stack>
      </Collapse>
    </>
  );
}
