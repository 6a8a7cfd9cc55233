import { Alert, Anchor, Collapse, Group, NumberInput, Stack, Switch, TagsInput, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Provider } from '../../api/types';
import { useFieldErrors } from '../../ui/fieldErrors';
import { Icon } from '../../ui/Icon';
import type { SectionProps } from './sectionProps';

type Research = NonNullable<NonNullable<SectionProps['draft']['aiConfig']>['research']>;

interface Props {
  research: Research;
  providers: readonly Provider[];
  onChange: (research: Research) => void;
}

/** How a model may look for the answer: who searches, and how far it may go. */
export function ResearchFields({ research, providers, onChange }: Props) {
  const errors = useFieldErrors();
  const engines = providers.filter(({ kind }) => kind === 'search');
  const change = (part: Partial<Research>) => onChange({ ...research, ...part });
  return (
    <Stack gap="md">
      {engines.length > 0 && engines.every(({ configured }) => !configured) && (
        <Alert color="yellow" title="No web search is set up yet" variant="light">
          Add the URL of your SearXNG, or a key of Serper, Brave Search, Tavily or Exa, under{' '}
          <Anchor component={Link} href="/settings/providers" size="sm" underline="always">
            Settings, Providers
          </Anchor>
          .
        </Alert>
      )}
      <TagsInput
        label="Search with"
        description="In this order: the next one is asked if one fails or finds nothing. Empty: all that are set up."
        placeholder={research.searchProviders?.length ? undefined : 'All that are set up'}
        data={engines.map(({ id }) => id)}
        value={research.searchProviders ?? []}
        error={errors['aiConfig.research.searchProviders']}
        onChange={(searchProviders) => change({ searchProviders })}
      />
      <Switch
        label="Use the model provider’s own search"
        description="Anthropic’s or OpenAI’s web search, billed by them. The search providers above are not asked then."
        checked={research.hostedSearch ?? false}
        onChange={(event) => change({ hostedSearch: event.currentTarget.checked })}
      />
      <LimitFields research={research} change={change} />
      <Switch
        label="Sources in the value"
        description="The value is then an object with value, confidence and sources. They are always in the cell’s details."
        checked={research.includeSources ?? false}
        onChange={(event) => change({ includeSources: event.currentTarget.checked })}
      />
    </Stack>
  );
}

const LIMITS = [
  ['maxSteps', 'Model answers', 8],
  ['maxSearches', 'Searches', 6],
  ['maxCalls', 'Searches and pages', 12],
  ['maxSeconds', 'Seconds', 180],
  ['maxInputTokens', 'Input tokens', 100_000],
  ['maxOutputTokens', 'Output tokens', 10_000],
] as const;

interface LimitProps {
  research: Research;
  change: (part: Partial<Research>) => void;
}

/** Limits for one cell, collapsed by default. */
function LimitFields({ research, change }: LimitProps) {
  const [isOpen, setIsOpen] = useState(false);
  const errors = useFieldErrors();
  return (
    <>
      <UnstyledButton onClick={() => setIsOpen(!isOpen)} aria-expanded={isOpen} fz="sm" c="dimmed">
        <Group gap={6}>
          <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={15} />
          Limits for each cell, country
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen} keepMounted={false}>
        <Stack gap="md">
          <Text size="sm" c="dimmed">
            Near a limit the model must answer with what it has found.
          </Text>
          {[LIMITS.slice(0, 2), LIMITS.slice(2, 4), LIMITS.slice(4, 6)].map((pair) => (
            <Group grow key={pair[0]?.[0]} align="flex-start">
              {pair.map(([name, label, usual]) => (
                <NumberInput
                  key={name}
                  label={label}
                  min={0}
                  placeholder={String(usual)}
                  value={research[name] ?? ''}
                  error={errors[`aiConfig.research.${name}`]}
                  onChange={(value) => change({ [name]: value === '' ? usual : Number(value) })}
                />
              ))}
            </Group>
          ))}
          <Group grow align="flex-start">
            <NumberInput
              label="Cost"
              description="As providers tell it, else by your prices and the price list."
              prefix="$"
              min={0}
              placeholder="No limit"
              value={research.maxCost ?? ''}
              error={errors['aiConfig.research.maxCost']}
              onChange={(value) => change({ maxCost: value === '' ? null : Number(value) })}
            />
            <TextInput
              label="Country"
              description="Two letters, such as de."
              placeholder="Any"
              maxLength={2}
              value={research.country ?? ''}
              error={errors['aiConfig.research.country']}
              onChange={(event) => change({ country: event.currentTarget.value || null })}
            />
          </Group>
        </Stack>
      </Collapse>
    </>
  );
}
