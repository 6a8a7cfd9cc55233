import { ActionIcon, Badge, Button, NumberInput, Progress, Select, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { projectsQuery, providersQuery } from '../api/queries';
import type { Cap, CapBody, Spending } from '../api/types';
import { Icon } from '../ui/Icon';
import { capBody, capLimit, capScope, capShare, capSpent } from './caps';
import { Card } from './Card';
import classes from './Spending.module.css';
import { SaveProblem } from './SaveProblem';
import { useSaveSpending } from './useSaveSpending';

/** Caps on what is spent, how far each is used, and a form for another. */
export function CapsCard({ spending }: { spending: Spending }) {
  const save = useSaveSpending();
  const projects = useQuery(projectsQuery);
  const providers = useQuery(providersQuery);
  const projectName = (id: string) => projects.data?.find((project) => project.id === id)?.title ?? id;
  const providerName = (id: string) => providers.data?.find((provider) => provider.id === id)?.label ?? id;
  const { caps } = spending;
  const without = (place: number) => caps.filter((_, other) => other !== place).map(capBody);
  return (
    <Card
      title="Spending caps"
      guide="costs"
      text="When a cap is reached, cells stay queued. They go on by themselves when you raise the cap or its period ends (UTC). Calls that already run may exceed it."
    >
      {caps.length > 0 && (
        <ul className={classes.list}>
          {caps.map((cap, place) => (
            <CapItem key={place} cap={cap} name={capScope(cap, projectName, providerName)} onRemove={() => save.mutate({ caps: without(place) })} />
          ))}
        </ul>
      )}
      <CapForm
        projects={(projects.data ?? []).map(({ id, title }) => ({ value: id, label: title }))}
        providers={(providers.data ?? []).map(({ id, label }) => ({ value: id, label }))}
        isSaving={save.isPending}
        onAdd={(cap) => save.mutateAsync({ caps: [...caps.map(capBody), cap] })}
      />
      <SaveProblem error={save.error} />
    </Card>
  );
}

function CapItem({ cap, name, onRemove }: { cap: Cap; name: string; onRemove: () => void }) {
  const share = capShare(cap);
  return (
    <li className={classes.cap}>
      <div className={classes.capName}>
        <Text size="sm" fw={550} truncate>
          {name}
        </Text>
        {cap.reached && (
          <Badge size="sm" variant="light" color="yellow">
            Reached
          </Badge>
        )}
      </div>
      <Text size="sm" className={classes.amount}>
        {capSpent(cap)}
      </Text>
      <ActionIcon variant="subtle" color="gray" aria-label={`Remove the cap of ${capLimit(cap)}`} onClick={onRemove}>
        <Icon name="trash" size={16} />
      </ActionIcon>
      {share !== undefined && (
        <Progress className={classes.capBar} size="sm" value={share * 100} color={cap.reached || share >= 0.9 ? 'yellow' : undefined} aria-label={`${name}: share of the cap that is spent`} />
      )}
    </li>
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
const UNITS = [
  { value: 'usd', label: 'US dollars' },
  { value: 'credits', label: 'credits' },
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
  const changeScope = (value: string | null) => {
    setScope((value ?? 'team') as CapBody['scope']);
    setTarget(null);
  };
  return (
    <form className={classes.form} aria-label="Add a cap" onSubmit={(event) => void submit(event).catch(() => {})}>
      <Select label="Cap for" data={SCOPES} value={scope} allowDeselect={false} onChange={changeScope} />
      {needsTarget && (
        <Select
          label={scope === 'project' ? 'Project' : 'Provider'}
          data={scope === 'project' ? projects : providers}
          value={target}
          searchable
          onChange={setTarget}
        />
      )}
      <NumberInput label="At most" value={amount} min={0} max={1_000_000} thousandSeparator="," prefix={unit === 'usd' ? '$' : undefined} onChange={setAmount} />
      <Select label="In" data={UNITS} value={unit} allowDeselect={false} onChange={(value) => setUnit(value === 'credits' ? 'credits' : 'usd')} />
      {scope !== 'run' && (
        <Select label="Each" data={['day', 'month']} value={period} allowDeselect={false} onChange={(value) => setPeriod(value === 'day' ? 'day' : 'month')} />
      )}
      <Button type="submit" disabled={!isComplete} loading={isSaving}>
        Add cap
      </Button>
    </form>
  );
}
