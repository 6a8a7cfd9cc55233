import { ActionIcon, Badge, Button, Group, Loader, NumberInput, Select, Table, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { errorMessage } from '../api/error';
import { readSpending, setSpending } from '../api/operations';
import { projectsQuery, providersQuery } from '../api/queries';
import type { CapBody, Spending, SpendingBody } from '../api/types';
import { ErrorState } from '../ui/ErrorState';
import { Icon } from '../ui/Icon';
import { Card } from './Card';
import { capAmount, capBody, capLimit, capScope } from './caps';
import classes from './Settings.module.css';
import { SpendingUsage } from './SpendingUsage';

const QUERY_KEY = ['spending'];

/** Caps on what is spent, and the prices it is reckoned by. */
export function SpendingSection() {
  const spending = useQuery({ queryKey: QUERY_KEY, queryFn: readSpending, staleTime: 0, refetchInterval: 10_000 });
  if (spending.isPending) return <Loader size="sm" />;
  if (spending.isError) return <ErrorState error={spending.error} onRetry={() => void spending.refetch()} />;
  return (
    <>
      <CapsCard spending={spending.data} />
      <PricesCard spending={spending.data} />
      <SpendingUsage />
    </>
  );
}

function useSave() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: SpendingBody) => setSpending(body),
    onSuccess: (saved) => queryClient.setQueryData(QUERY_KEY, saved),
  });
}

function CapsCard({ spending }: { spending: Spending }) {
  const save = useSave();
  const projects = useQuery(projectsQuery);
  const providers = useQuery(providersQuery);
  const projectName = (id: string) => projects.data?.find((project) => project.id === id)?.title ?? id;
  const providerName = (id: string) => providers.data?.find((provider) => provider.id === id)?.label ?? id;
  const { caps } = spending;
  return (
    <Card
      title="Spending caps"
      text="When a cap is reached, cells stay queued and go on by themselves when you raise it or its period ends (UTC). Calls that already run may exceed it."
    >
      {caps.length > 0 && (
        <Table verticalSpacing={6} className={classes.stacked}>
          <Table.Tbody>
            {caps.map((cap, place) => (
              <Table.Tr key={place}>
                <Table.Td>{capScope(cap, projectName, providerName)}</Table.Td>
                <Table.Td>{capLimit(cap)}</Table.Td>
                <Table.Td c="dimmed" fz="sm">
                  {cap.spent !== undefined && `${capAmount(cap, cap.spent)} spent`} {cap.reached && <Badge color="orange">Reached</Badge>}
                </Table.Td>
                <Table.Td ta="right">
                  <ActionIcon
                    variant="subtle"
                    color="red"
                    aria-label={`Remove the cap of ${capLimit(cap)}`}
                    onClick={() => save.mutate({ caps: caps.filter((_, other) => other !== place).map(capBody) })}
                  >
                    <Icon name="trash" />
                  </ActionIcon>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      <CapForm
        projects={(projects.data ?? []).map(({ id, title }) => ({ value: id, label: title }))}
        providers={(providers.data ?? []).map(({ id, label }) => ({ value: id, label }))}
        isSaving={save.isPending}
        onAdd={(cap) => save.mutateAsync({ caps: [...caps.map(capBody), cap] })}
      />
      {save.isError && <Problem error={save.error} />}
    </Card>
  );
}

interface Choice {
  value: string;
  label: string;
}

interface CapFormProps {
  projects: Choice[];
  providers: Choice[];
  isSaving: boolean;
  onAdd: (cap: CapBody) => Promise<unknown>;
}

const SCOPES = [
  { value: 'team', label: 'The whole team' },
  { value: 'project', label: 'One project' },
  { value: 'credential', label: 'One provider' },
  { value: 'run', label: 'Each run' },
];

function CapForm({ projects, providers, isSaving, onAdd }: CapFormProps) {
  const [scope, setScope] = useState<CapBody['scope']>('team');
  const [target, setTarget] = useState<string | null>(null);
  const [period, setPeriod] = useState<'day' | 'month'>('month');
  const [unit, setUnit] = useState<'usd' | 'credits'>('usd');
  const [amount, setAmount] = useState<string | number>('');
  const needsTarget = scope === 'project' || scope === 'credential';
  const isComplete = amount !== '' && (!needsTarget || target !== null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!isComplete) return;
    const about = scope === 'project' ? { projectId: target ?? '' } : scope === 'credential' ? { provider: target ?? '' } : {};
    await onAdd({ scope, ...about, ...(scope !== 'run' && { period }), [unit]: Number(amount) });
    setAmount('');
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Group align="flex-end" gap="sm">
        <Select
          label="Cap for"
          data={SCOPES}
          value={scope}
          allowDeselect={false}
          w={160}
          onChange={(value) => {
            setScope((value ?? 'team') as CapBody['scope']);
            setTarget(null);
          }}
        />
        {needsTarget && (
          <Select
            label={scope === 'project' ? 'Project' : 'Provider'}
            data={scope === 'project' ? projects : providers}
            value={target}
            searchable
            w={180}
            onChange={setTarget}
          />
        )}
        <NumberInput label="At most" value={amount} min={0} max={1_000_000} w={120} onChange={setAmount} />
        <Select
          label="In"
          data={[
            { value: 'usd', label: 'US dollars' },
            { value: 'credits', label: 'credits' },
          ]}
          value={unit}
          allowDeselect={false}
          w={120}
          onChange={(value) => setUnit(value === 'credits' ? 'credits' : 'usd')}
        />
        {scope !== 'run' && (
          <Select
            label="Each"
            data={['day', 'month']}
            value={period}
            allowDeselect={false}
            w={110}
            onChange={(value) => setPeriod(value === 'day' ? 'day' : 'month')}
          />
        )}
        <Button type="submit" disabled={!isComplete} loading={isSaving}>
          Add cap
        </Button>
      </Group>
    </form>
  );
}

function PricesCard({ spending }: { spending: Spending }) {
  const save = useSave();
  const { models, providers, priceList } = spending;
  const entries: { name: string; text: string; remove: SpendingBody }[] = [
    ...Object.entries(models).map(([name, { input, output }]) => ({
      name,
      text: `$${input} in, $${output} out for a million tokens`,
      remove: { models: without(models, name) },
    })),
    ...Object.entries(providers).map(([name, { usdPerCredit, usdPerCall }]) => ({
      name,
      text: [usdPerCredit != null && `$${usdPerCredit} a credit`, usdPerCall != null && `$${usdPerCall} a search`].filter(Boolean).join(', '),
      remove: { providers: without(providers, name) },
    })),
  ];
  return (
    <Card
      title="Prices"
      text={`Costs that providers do not report are reckoned by a price list of ${priceList.models} models of ${priceList.date}. Your own prices come first.`}
    >
      {entries.length > 0 && (
        <Table verticalSpacing={6} className={classes.stacked}>
          <Table.Tbody>
            {entries.map(({ name, text, remove }) => (
              <Table.Tr key={name}>
                <Table.Td className="mono">{name}</Table.Td>
                <Table.Td fz="sm">{text}</Table.Td>
                <Table.Td ta="right">
                  <ActionIcon variant="subtle" color="red" aria-label={`Remove the price of ${name}`} onClick={() => save.mutate(remove)}>
                    <Icon name="trash" />
                  </ActionIcon>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      <ModelPriceForm isSaving={save.isPending} onSave={(name, price) => save.mutateAsync({ models: { ...models, [name]: price } })} />
      <FinderPriceForm
        isSaving={save.isPending}
        onSave={(name, price) => save.mutateAsync({ providers: { ...providers, [name]: price } })}
      />
      {save.isError && <Problem error={save.error} />}
    </Card>
  );
}

function without<T>(entries: Record<string, T>, name: string): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([other]) => other !== name));
}

interface ModelPriceProps {
  isSaving: boolean;
  onSave: (name: string, price: { input: number; output: number }) => Promise<unknown>;
}

function ModelPriceForm({ isSaving, onSave }: ModelPriceProps) {
  const [name, setName] = useState('');
  const [input, setInput] = useState<string | number>('');
  const [output, setOutput] = useState<string | number>('');
  const isComplete = name.trim() !== '' && input !== '' && output !== '';
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!isComplete) return;
    await onSave(name.trim(), { input: Number(input), output: Number(output) });
    setName('');
    setInput('');
    setOutput('');
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Group align="flex-end" gap="sm">
        <TextInput label="Model" placeholder="my-model" value={name} w={200} onChange={(event) => setName(event.currentTarget.value)} />
        <NumberInput label="Input, $ a million tokens" value={input} min={0} w={190} onChange={setInput} />
        <NumberInput label="Output, $ a million tokens" value={output} min={0} w={190} onChange={setOutput} />
        <Button type="submit" variant="default" disabled={!isComplete} loading={isSaving}>
          Set price
        </Button>
      </Group>
    </form>
  );
}

interface FinderPriceProps {
  isSaving: boolean;
  onSave: (name: string, price: { usdPerCredit?: number; usdPerCall?: number }) => Promise<unknown>;
}

function FinderPriceForm({ isSaving, onSave }: FinderPriceProps) {
  const providers = useQuery(providersQuery);
  const [name, setName] = useState<string | null>(null);
  const [perCredit, setPerCredit] = useState<string | number>('');
  const [perCall, setPerCall] = useState<string | number>('');
  const isComplete = name !== null && (perCredit !== '' || perCall !== '');
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!isComplete) return;
    await onSave(name, { ...(perCredit !== '' && { usdPerCredit: Number(perCredit) }), ...(perCall !== '' && { usdPerCall: Number(perCall) }) });
    setName(null);
    setPerCredit('');
    setPerCall('');
  };
  const finders = (providers.data ?? []).filter(({ kind }) => kind === 'finder').map(({ id, label }) => ({ value: id, label }));
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Group align="flex-end" gap="sm">
        <Select label="Finder" data={finders} value={name} searchable w={200} onChange={setName} />
        <NumberInput label="$ a credit" value={perCredit} min={0} w={190} onChange={setPerCredit} />
        <NumberInput label="$ a search without credits" value={perCall} min={0} w={190} onChange={setPerCall} />
        <Button type="submit" variant="default" disabled={!isComplete} loading={isSaving}>
          Set price
        </Button>
      </Group>
    </form>
  );
}

function Problem({ error }: { error: Error }) {
  return (
    <Text size="sm" c="red" role="alert">
      {errorMessage(error)}
    </Text>
  );
}
