import { Anchor, List, Stack, Text } from '@mantine/core';
import { formatCost, formatMilliseconds, formatNumber } from '../../ui/format';
import { type ResearchStep, type Source, stepTitle } from './researchStep';
import { useProviderName } from './useProviderName';

/** The pages that an answer rests on, with their quotes. */
export function Sources({ sources }: { sources: Source[] }) {
  return (
    <Stack gap={6} mt="sm">
      <Text size="sm" fw={600}>
        Sources
      </Text>
      {sources.map((source, place) => (
        <div key={place}>
          <PageLink url={source.url} title={source.title} />
          {source.quote && (
            <Text size="xs" c={source.quoteFound ? 'dimmed' : 'orange'} style={{ overflowWrap: 'anywhere' }}>
              “{source.quote}”{source.quoteFound ? '' : ' (not found on the page)'}
            </Text>
          )}
        </div>
      ))}
    </Stack>
  );
}

/** Each step of a research: what was asked, found and read, and what it took. */
export function ResearchSteps({ steps }: { steps: ResearchStep[] }) {
  return (
    <Stack gap={6} mt="sm">
      <Text size="sm" fw={600}>
        Steps
      </Text>
      <List type="ordered" size="sm" spacing={6}>
        {steps.map((step, place) => (
          <List.Item key={place}>
            {stepTitle(step)}
            <StepFacts step={step} />
          </List.Item>
        ))}
      </List>
    </Stack>
  );
}

function StepFacts({ step }: { step: ResearchStep }) {
  const providerName = useProviderName();
  const facts = [
    step.provider && providerName(step.provider),
    step.found && `${step.found.length} found`,
    step.characters !== undefined && `${formatNumber(step.characters)} characters`,
    step.inputTokens !== undefined && `${formatNumber(step.inputTokens)} tokens in, ${formatNumber(step.outputTokens ?? 0)} out`,
    formatCost(step),
    step.unpriced && 'no price known',
    step.milliseconds !== undefined && formatMilliseconds(step.milliseconds),
    step.cached && 'from this run',
  ].filter(Boolean);
  return (
    <>
      <Text size="xs" c="dimmed">
        {facts.join(' · ')}
      </Text>
      {step.error && (
        <Text size="xs" c="red" style={{ overflowWrap: 'anywhere' }}>
          {step.error}
        </Text>
      )}
      {step.type === 'page' && step.url && <PageLink url={step.url} />}
      {step.found?.slice(0, 5).map(({ url, title }, place) => (
        <div key={place}>
          <PageLink url={url} title={title} />
        </div>
      ))}
    </>
  );
}

/** Only addresses of web pages become links. */
function PageLink({ url, title }: { url: string; title?: string | undefined }) {
  if (!/^https?:\/\//.test(url)) return <Text size="xs">{url}</Text>;
  return (
    <Anchor href={url} target="_blank" rel="noreferrer noopener" size="xs" style={{ overflowWrap: 'anywhere' }}>
      {title || url}
    </Anchor>
  );
}
