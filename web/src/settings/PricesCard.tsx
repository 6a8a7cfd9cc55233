import { ActionIcon, Button, NumberInput, SegmentedControl, Select, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { providersQuery } from '../api/queries';
import type { Spending, SpendingBody } from '../api/types';
import { formatNumber } from '../ui/format';
import { Icon } from '../ui/Icon';
import { Card } from './Card';
import { SaveProblem } from './SaveProblem';
import classes from './Spending.module.css';
import { useSaveSpending } from './useSaveSpending';

/** The prices that count where providers report no cost. */
export function PricesCard({ spending }: { spending: Spending }) {
  const save = useSaveSpending();
  const [kind, setKind] = useState<'model' | 'finder'>('model');
  const { models, providers, priceList } = spending;
  const entries = entriesOf(spending);
  return (
    <Card
      title="Prices"
      guide="costs"
      text={`For costs that providers do not report: a price list of ${formatNumber(priceList.models)} models of ${priceList.date}. Your own prices come first. The price of a search counts where a finder reports no credits.`}
    >
      {entries.length > 0 && (
        <ul className={classes.list}>
          {entries.map(({ name, text, remove }) => (
            <li key={name} className={classes.price}>
              <Text size="sm" className="mono" truncate>
                {name}
              </Text>
              <Text size="sm" c="dimmed" className={classes.amount}>
                {text}
              </Text>
              <ActionIcon variant="subtle" color="gray" aria-label={`Remove the price of ${name}`} onClick={() => save.mutate(remove)}>
                <Icon name="trash" size={16} />
              </ActionIcon>
            </li>
          ))}
        </ul>
      )}
      <SegmentedControl
        className={classes.kinds}
        aria-label="Price of"
        data={[
          { value: 'model', label: 'A model' },
          { value: 'finder', label: 'A finder' },
        ]}
        value={kind}
        onChange={(value) => setKind(value === 'finder' ? 'finder' : 'model')}
      />
      {kind === 'model' ? (
        <ModelPriceForm isSaving={save.isPending} onSave={(name, price) => save.mutateAsync({ models: { ...models, [name]: price } })} />
      ) : (
        <FinderPriceForm isSaving={save.isPending} onSave={(name, price) => save.mutateAsync({ providers: { ...providers, [name]: price } })} />
      )}
      <SaveProblem error={save.error} />
    </Card>
  );
}

/** The team's own prices in words, each with what removes it. */
function entriesOf({ models, providers }: Spending): { name: string; text: string; remove: SpendingBody }[] {
  return [
    ...Object.entries(models).map(([name, { input, output, cacheRead }]) => ({
      name,
      text: `$${input} in${cacheRead == null ? '' : ` ($${cacheRead} from the cache)`}, $${output} out for a million tokens`,
      remove: { models: without(models, name) },
    })),
    ...Object.entries(providers).map(([name, { usdPerCredit, usdPerCall }]) => ({
      name,
      text: [usdPerCredit != null && `$${usdPerCredit} a credit`, usdPerCall != null && `$${usdPerCall} a search`].filter(Boolean).join(', '),
      remove: { providers: without(providers, name) },
    })),
  ];
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
    <form className={classes.form} aria-label="Price of a model" onSubmit={(event) => void submit(event).catch(() => {})}>
      <TextInput label="Model" placeholder="my-model" value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <NumberInput label="Input, $ a million tokens" value={input} min={0} onChange={setInput} />
      <NumberInput label="Output, $ a million tokens" value={output} min={0} onChange={setOutput} />
      <Button type="submit" variant="default" disabled={!isComplete} loading={isSaving}>
        Set price
      </Button>
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
    <form className={classes.form} aria-label="Price of a finder" onSubmit={(event) => void submit(event).catch(() => {})}>
      <Select label="Finder" data={finders} value={name} searchable onChange={setName} />
      <NumberInput label="$ a credit" value={perCredit} min={0} onChange={setPerCredit} />
      <NumberInput label="$ a search" value={perCall} min={0} onChange={setPerCall} />
      <Button type="submit" variant="default" disabled={!isComplete} loading={isSaving}>
        Set price
      </Button>
    </form>
  );
}
