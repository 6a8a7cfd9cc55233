import { Alert, Anchor, Button, Group, Input, Select, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { errorMessage } from '../../api/error';
import { providersQuery } from '../../api/queries';
import { type Column, isProcessed } from '../../api/types';
import { pluralize } from '../../ui/format';
import { Icon } from '../../ui/Icon';
import { notifyAction } from '../../ui/notifyAction';
import { SidePanel } from '../../ui/SidePanel';
import { columnIcon } from '../model/columnIcon';
import { type Guess, guessColumns } from '../model/guessColumns';
import type { NamedColumns, Recipe, RecipeColumn } from '../model/recipe';
import type { TemplateId } from '../model/templates';
import type { Table } from '../state/useTable';
import classes from './Recipes.module.css';
import { useAddRecipe } from './useAddRecipe';

interface Props {
  table: Table;
  recipe: Recipe;
  onBack: () => void;
  onClose: () => void;
}

const BY = { header: 'Chosen by its header.', values: 'Chosen by its values.' } as const;

/** A recipe before it is added: which columns it uses, and which it adds. */
export function RecipePanel({ table, recipe, onBack, onClose }: Props) {
  const [guesses] = useState(() => guessColumns(recipe.inputs, table.columns, (columnId) => table.store.sampleOf(columnId)));
  const [chosen, setChosen] = useState<NamedColumns>(() => Object.fromEntries(Object.entries(guesses).map(([name, { columnId }]) => [name, columnId])));
  const add = useAddRecipe(table.project.id, recipe);
  const isComplete = recipe.inputs.every((name) => chosen[name]);
  const submit = () =>
    add.mutate(chosen, {
      onSuccess: (made) => {
        onClose();
        const columnIds = made.filter((_, index) => isProcessed({ type: typeOf(recipe.columns[index]) }));
        notifyAction(`${pluralize(made.length, 'column')} added.`, 'Run first 10 rows', () => void table.runs.run({ limit: 10, columnIds }));
      },
    });
  return (
    <SidePanel
      title={recipe.name}
      icon="wand"
      onBack={onBack}
      onClose={onClose}
      footer={
        <Group justify="flex-end">
          <Button onClick={submit} loading={add.isPending} disabled={!isComplete}>
            Add {pluralize(recipe.columns.length, 'column')}
          </Button>
        </Group>
      }
    >
      <Stack gap="md">
        {recipe.about && <Text size="sm">{recipe.about}</Text>}
        <MissingProvider recipe={recipe} />
        <RecipeInputs recipe={recipe} table={table} guesses={guesses} chosen={chosen} onChange={setChosen} />
        <Stack gap={8}>
          <Input.Label component="div">Adds</Input.Label>
          {recipe.columns.map((column) => (
            <ColumnPreview key={column.header} column={column} />
          ))}
          <Text size="xs" c="dimmed">
            Nothing runs until you start it. Every setting can be changed afterwards.
          </Text>
        </Stack>
        {add.isError && (
          <Alert color="red" role="alert" icon={<Icon name="warn" />}>
            {errorMessage(add.error)}
          </Alert>
        )}
      </Stack>
    </SidePanel>
  );
}

interface InputsProps {
  recipe: Recipe;
  table: Table;
  guesses: Record<string, Guess>;
  chosen: NamedColumns;
  onChange: (chosen: NamedColumns) => void;
}

/** Which column of the table stands for each input. */
function RecipeInputs({ recipe, table, guesses, chosen, onChange }: InputsProps) {
  const noteOf = (name: string) => guesses[name] && guesses[name].columnId === chosen[name] && BY[guesses[name].by];
  if (recipe.inputs.length === 0) return null;
  return (
    <Stack gap={10}>
      <Input.Label component="div">Uses</Input.Label>
      {recipe.inputs.map((name) => (
        <Select
          key={name}
          label={name}
          placeholder="Choose a column"
          description={noteOf(name)}
          data={table.columns.map(({ id, header }) => ({ value: id, label: header }))}
          value={chosen[name] ?? null}
          searchable
          onChange={(columnId) => onChange({ ...chosen, [name]: columnId ?? '' })}
        />
      ))}
      {!recipe.inputs.every((name) => chosen[name]) && (
        <Text size="xs" c="dimmed">
          Choose a column for each. If the table lacks one, add it first.
        </Text>
      )}
    </Stack>
  );
}

const TYPES: Record<TemplateId, 'manual' | 'ai' | 'task' | 'api' | 'reference'> = {
  manual: 'manual',
  'ai-text': 'ai',
  'ai-json': 'ai',
  'ai-research': 'ai',
  'waterfall-email': 'task',
  'web-scraper': 'task',
  'verify-email': 'task',
  'find-company': 'task',
  'find-people': 'task',
  'fan-out': 'task',
  'http-api': 'api',
  reference: 'reference',
};

function typeOf(column: RecipeColumn | undefined) {
  return (column && TYPES[column.templateId]) ?? 'manual';
}

const SHAPES: Partial<Record<TemplateId, Column['dataShape']>> = { 'ai-json': 'json', 'waterfall-email': 'waterfall', 'web-scraper': 'vendor-scrape-result', 'verify-email': 'json', 'find-company': 'json', 'find-people': 'json', 'fan-out': 'json' };

function ColumnPreview({ column }: { column: RecipeColumn }) {
  const shape = SHAPES[column.templateId] ?? 'text';
  return (
    <div className={classes.column}>
      <Icon name={columnIcon({ id: '', type: typeOf(column), dataShape: shape })} />
      <div>
        <Text size="sm" fw={600}>
          {column.header}
        </Text>
        <Text size="sm" c="dimmed" lineClamp={4} style={{ whiteSpace: 'pre-wrap' }}>
          {inWords(column)}
        </Text>
      </div>
    </div>
  );
}

/** What a column of a recipe does, for people. References show as the names they have in the recipe. */
function inWords({ templateId, aiConfig, apiConfig, referenceConfig, taskConfig }: RecipeColumn): string {
  // Blank lines would take the room of the few lines that are shown.
  const names = (text: string | undefined) => (text ?? '').replace(/@\{([^{}]+)\}/g, '“$1”').replace(/\n{2,}/g, '\n');
  if (aiConfig) return names(aiConfig.prompt);
  if (apiConfig) return `${apiConfig.method ?? 'GET'} ${names(apiConfig.url)}`;
  if (referenceConfig) return `Takes “${referenceConfig.path}” from ${names(referenceConfig.columnId)}`;
  const scraper = (taskConfig as { webScraper?: { url?: string } } | undefined)?.webScraper;
  if (scraper) return `Reads ${names(scraper.url)}`;
  return templateId === 'waterfall-email' ? 'Asks your finders one after the other' : '';
}

/** Says which key is missing, before somebody adds columns that cannot run. */
function MissingProvider({ recipe }: { recipe: Recipe }) {
  const providers = useQuery(providersQuery);
  const needs = (kind: string) => recipe.columns.some(({ templateId }) => (kind === 'ai' ? templateId.startsWith('ai-') : templateId === 'waterfall-email'));
  // The pattern guesser needs no key, and finds little by itself.
  const has = (kind: string) => providers.data?.some(({ id, ...provider }) => provider.kind === kind && provider.configured && id !== 'pattern');
  const lacked = [
    ...(needs('ai') && !has('ai') ? ['a language model'] : []),
    ...(needs('finder') && !has('finder') ? ['an e-mail finder'] : []),
  ];
  if (!providers.data || lacked.length === 0) return null;
  return (
    <Alert color="yellow" icon={<Icon name="key" />}>
      This recipe needs {lacked.join(' and ')}.{' '}
      <Anchor component={Link} href="/settings/providers" size="sm" underline="always">
        Add a key
      </Anchor>{' '}
      before you run it.
    </Alert>
  );
}
