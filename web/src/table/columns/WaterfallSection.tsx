import {
  closestCenter,
  DndContext,
  type DragEndEvent,
  KeyboardSensor,
  PointerSensor,
  useSensor,
  useSensors,
} from '@dnd-kit/core';
import { arrayMove, SortableContext, sortableKeyboardCoordinates, useSortable, verticalListSortingStrategy } from '@dnd-kit/sortable';
import { Anchor, Badge, Input, NumberInput, Stack, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { providersQuery } from '../../api/queries';
import type { Provider, WaterfallProvider } from '../../api/types';
import { useFieldErrors } from '../../ui/fieldErrors';
import { Icon } from '../../ui/Icon';
import { ALL_DISABLED, lookupKind, mappingPath, missingInputs, providersPath } from '../model/lookups';
import { TemplateField } from '../template/TemplateField';
import classes from './Columns.module.css';
import type { SectionProps } from './sectionProps';

/** Settings of a column that asks providers in order until one knows. */
export function WaterfallSection({ draft, columns, onChange }: SectionProps) {
  const known = useQuery(providersQuery);
  const errors = useFieldErrors();
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  const waterfall = draft.waterfall ?? { providers: [], inputMapping: {} };
  const entries = [...waterfall.providers].sort((a, b) => a.order - b.order);
  const set = (providers: WaterfallProvider[]) =>
    onChange({ waterfall: { ...waterfall, providers: providers.map((entry, order) => ({ ...entry, order })) } });
  const onDragEnd = ({ active, over }: DragEndEvent) => {
    if (!over || active.id === over.id) return;
    const place = (id: string | number) => entries.findIndex((entry) => entry.id === id);
    set(arrayMove(entries, place(active.id), place(over.id)));
  };
  const { task, ends } = lookupKind(draft.templateId);

  return (
    <Stack gap="md">
      <Inputs draft={draft} columns={columns} onChange={onChange} />
      <Stack gap={6}>
        <Input.Label component="div">Providers, tried from top to bottom</Input.Label>
        <DndContext sensors={sensors} collisionDetection={closestCenter} onDragEnd={onDragEnd}>
          <SortableContext items={entries.map((entry) => entry.id)} strategy={verticalListSortingStrategy}>
            {entries.map((entry) => (
              <Entry
                key={entry.id}
                entry={entry}
                provider={known.data?.find((provider) => provider.id === entry.taskType)}
                onToggle={(enabled) => set(entries.map((old) => (old.id === entry.id ? { ...old, enabled } : old)))}
              />
            ))}
          </SortableContext>
        </DndContext>
        {errors[providersPath(task)] && <Input.Error role="alert">{errors[providersPath(task)]}</Input.Error>}
        {entries.length > 0 && entries.every(({ enabled }) => !enabled) && (
          <Text size="sm" role="status">
            {ALL_DISABLED}
          </Text>
        )}
        <Text size="xs" c="dimmed">
          Drag to change the order, or focus a handle and press Space and the arrow keys. {ends}{' '}
          <Anchor component={Link} href="/settings/providers" size="xs" underline="always">
            Add keys
          </Anchor>
        </Text>
      </Stack>
    </Stack>
  );
}

/** What is looked up: the columns that the providers are asked with. */
function Inputs({ draft, columns, onChange }: Pick<SectionProps, 'draft' | 'columns' | 'onChange'>) {
  const errors = useFieldErrors();
  const waterfall = draft.waterfall ?? { providers: [], inputMapping: {} };
  const { task, title, inputs, needs } = lookupKind(draft.templateId);
  const isLacking = Object.keys(missingInputs(task, waterfall.inputMapping)).length > 0;
  const isRefused = inputs.some(({ key }) => errors[`${mappingPath(task)}.${key}`]);
  return (
    <Stack gap={8}>
      <Input.Label component="div">{title}</Input.Label>
      {draft.isGuessed && <Text size="xs" c="dimmed">Columns were chosen by their headers and values. Please check them.</Text>}
      {inputs.map(({ key, label, placeholder }) => (
        <TemplateField
          key={key}
          label={label}
          placeholder={placeholder ?? 'Type @ to choose a column'}
          isSingleLine
          value={waterfall.inputMapping[key] ?? ''}
          columns={columns}
          error={errors[`${mappingPath(task)}.${key}`]}
          onChange={(value) => onChange({ waterfall: { ...waterfall, inputMapping: { ...waterfall.inputMapping, [key]: value } } })}
        />
      ))}
      {isLacking && !isRefused && (
        <Text size="xs" c="dimmed">
          {needs}
        </Text>
      )}
      {waterfall.limit !== undefined && (
        <NumberInput
          label="Maximum number of people"
          min={1}
          max={100}
          allowDecimal={false}
          value={waterfall.limit}
          error={errors[`taskConfig.${task}.limit`]}
          onChange={(limit) => typeof limit === 'number' && onChange({ waterfall: { ...waterfall, limit } })}
        />
      )}
    </Stack>
  );
}

interface EntryProps {
  entry: WaterfallProvider;
  provider: Provider | undefined;
  onToggle: (enabled: boolean) => void;
}

function Entry({ entry, provider, onToggle }: EntryProps) {
  const { attributes, listeners, setNodeRef, transform, transition, isDragging } = useSortable({ id: entry.id });
  const label = provider?.label ?? entry.taskType;
  return (
    <div
      ref={setNodeRef}
      className={classes.provider}
      data-off={!entry.enabled || undefined}
      style={{
        transform: transform ? `translateY(${transform.y}px)` : undefined,
        transition,
        zIndex: isDragging ? 2 : undefined,
        position: 'relative',
      }}
    >
      <button type="button" className={classes.handle} aria-label={`Move ${label}`} {...attributes} {...listeners}>
        <Icon name="grip" size={16} />
      </button>
      <Text size="sm" flex={1} fw={entry.enabled ? 600 : 400}>
        {label}
      </Text>
      {state(provider)}
      <Switch size="sm" checked={entry.enabled} aria-label={`Use ${label}`} onChange={(event) => onToggle(event.currentTarget.checked)} />
    </div>
  );
}

function state(provider: Provider | undefined) {
  if (!provider) return <Badge color="red" variant="light">unknown</Badge>;
  if (provider.error) return <Badge color="red" variant="light">key unreadable</Badge>;
  if (provider.source === 'team') return <Badge color="mill" variant="light">your key</Badge>;
  if (provider.source === 'environment') return <Badge color="mill" variant="light">server’s key</Badge>;
  if (provider.configured) return <Badge color="gray" variant="light">needs no key</Badge>;
  return <Badge color="gray" variant="outline">no key</Badge>;
}
