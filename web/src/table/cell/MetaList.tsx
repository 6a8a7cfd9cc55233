import { Anchor, Table, Text } from '@mantine/core';
import { stringifyJson } from '../../api/exactNumber';
import type { Json } from '../../api/types';
import { formatCost, formatDollars, formatMilliseconds, formatNumber, pluralize } from '../../ui/format';
import type { TriedEntry } from './outcomes';
import { isJson } from '../model/values';
import { ResearchSteps, Sources } from './ResearchSteps';
import type { ResearchStep, Source } from './researchStep';
import { TriedProviders } from './TriedProviders';
import { useProviderName } from './useProviderName';

const LABELS: Record<string, string> = {
  provider: 'Provider',
  model: 'Model',
  milliseconds: 'Time',
  inputTokens: 'Input tokens',
  outputTokens: 'Output tokens',
  cost: 'Cost',
  listCost: 'Cost by price list',
  source: 'Source',
  verified: 'Verified',
  confidence: 'Confidence',
  searches: 'Searches',
  cachedTokens: 'Cached tokens',
  cacheWrittenTokens: 'Tokens put into the cache',
  credits: 'Credits',
  status: 'HTTP status',
  cached: 'From cache',
  truncated: 'Truncated',
  calls: 'Calls',
  adapted: 'Not supported',
  fallbackFrom: 'Fallback for',
  costNote: 'About the cost',
  paid: 'Paid to',
};

/** Metadata of a value: provider, cost, time and so on. */
export function MetaList({ meta }: { meta: Record<string, Json> }) {
  const { tried, fallbackFrom, steps, sources, paid, ...rest } = meta;
  const providerName = useProviderName();
  const facts = {
    ...rest,
    ...(Array.isArray(paid) && { paid: paidTo(paid as unknown as Paid[], providerName) }),
    ...(fallbackFrom && { fallbackFrom: firstChoice(fallbackFrom) }),
  };
  return (
    <>
      <Table verticalSpacing={4} horizontalSpacing={0} withRowBorders={false} fz="sm">
        <Table.Tbody>
          {Object.entries(facts).map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Td c="dimmed" w={130}>
                {LABELS[name] ?? name}
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{name === 'provider' ? providerName(String(value)) : fact(name, value)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {Array.isArray(tried) && tried.length > 0 && <TriedProviders entries={tried as TriedEntry[]} />}
      {Array.isArray(sources) && sources.length > 0 && <Sources sources={sources as unknown as Source[]} />}
      {Array.isArray(steps) && steps.length > 0 && <ResearchSteps steps={steps as unknown as ResearchStep[]} />}
    </>
  );
}

/** What one provider was paid for a cell. */
interface Paid {
  provider: string;
  calls: number;
  cost?: number;
  listCost?: number;
  credits?: number;
}

/** Who was paid what: `OpenAI (3 calls, $0.02), Tavily (1 call, 1 credit)`. */
function paidTo(paid: Paid[], providerName: (id: string) => string): string {
  const entry = (one: Paid) => {
    const took = [pluralize(one.calls, 'call'), formatCost(one)].filter(Boolean).join(', ');
    return `${providerName(one.provider)} (${took})`;
  };
  return paid.map(entry).join(', ');
}

/** The model that failed before the fallback was asked, and why. */
function firstChoice(told: Json): Json {
  if (!isJson(told) || Array.isArray(told)) return told;
  return `${told.model ?? told.provider ?? 'the first choice'}: ${told.message ?? told.code}`;
}

function fact(name: string, value: Json) {
  if (name === 'adapted' && Array.isArray(value)) return value.join(', ');
  if (name === 'milliseconds' && typeof value === 'number') return formatMilliseconds(value);
  if ((name === 'cost' || name === 'listCost') && typeof value === 'number') return formatDollars(value);
  if (typeof value === 'number') return formatNumber(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string' && /^https?:\/\//.test(value)) {
    return (
      <Anchor href={value} target="_blank" rel="noreferrer noopener" size="sm">
        {value}
      </Anchor>
    );
  }
  return <Text size="sm">{typeof value === 'string' ? value : stringifyJson(value)}</Text>;
}
