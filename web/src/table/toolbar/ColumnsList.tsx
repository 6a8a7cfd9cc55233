import { closestCenter, DndContext, type DragEndEvent, KeyboardSensor, PointerSensor, useSensor, useSensors } from '@dnd-kit/core';
import { SortableContext, sortableKeyboardCoordinates, useSortable, verticalListSortingStrategy } from '@dnd-kit/sortable';
import { ActionIcon, Button, Group, ScrollArea, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Column } from '../../api/types';
import { Icon } from '../../ui/Icon';
import type { Table } from '../state/useTable';
import { withHidden } from '../views/viewState';
import classes from './ColumnsList.module.css';

interface Props {
  table: Table;
  onConfigure: (columnId: string) => void;
  onReorder: (columnId: string, order: number) => void;
}

/** Fewer columns than this are found without a search. */
const SEARCH_FROM = 8;

/** Finds, shows, hides and moves columns, and opens their settings by keyboard. */
export function ColumnsList({ table, onConfigure, onReorder }: Props) {
  const { columns, views } = table;
  const [search, setSearch] = useState('');
  const wanted = search.trim().toLowerCase();
  const found = columns.filter(({ header }) => header.toLowerCase().includes(wanted));
  const all = (isVisible: boolean) =>
    views.change({
      ...views.state,
      columnVisibility: Object.fromEntries(columns.map((column, place) => [column.id, isVisible || place === 0])),
    });
  return (
    <Stack gap="sm">
      {columns.length >= SEARCH_FROM && (
        <TextInput
          size="xs"
          aria-label="Find a column"
          placeholder="Find a column"
          leftSection={<Icon name="search" size={15} />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      <ScrollArea.Autosize mah="50vh">
        <SortableColumns columns={columns} found={found} views={views} onConfigure={onConfigure} onReorder={onReorder} />
        {found.length === 0 && (
          <Text size="sm" c="dimmed">
            No column is called that.
          </Text>
        )}
      </ScrollArea.Autosize>
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={() => all(true)}>
          Show all
        </Button>
        <Button size="xs" variant="default" onClick={() => all(false)}>
          Hide all
        </Button>
      </Group>
    </Stack>
  );
}

interface SortableProps extends Omit<Props, 'table'> {
  columns: Column[];
  found: Column[];
  views: Table['views'];
}

function SortableColumns({ columns, found, views, onConfigure, onReorder }: SortableProps) {
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  const onDragEnd = ({ active, over }: DragEndEvent) => {
    if (over && active.id !== over.id) onReorder(String(active.id), columns.findIndex(({ id }) => id === over.id));
  };
  return (
    <DndContext sensors={sensors} collisionDetection={closestCenter} onDragEnd={onDragEnd}>
      <SortableContext items={found.map(({ id }) => id)} strategy={verticalListSortingStrategy}>
        <Stack gap={6} p={2}>
          {found.map((column) => (
            <ColumnLine key={column.id} column={column} views={views} onConfigure={() => onConfigure(column.id)} />
          ))}
        </Stack>
      </SortableContext>
    </DndContext>
  );
}

function ColumnLine({ column, views: { state, change }, onConfigure }: { column: Column; views: Table['views']; onConfigure: () => void }) {
  // The input column is always the first.
  const isFixed = column.id === '_trigger';
  const { attributes, listeners, setNodeRef, transform, transition } = useSortable({ id: column.id, disabled: isFixed });
  const style = { transform: transform ? `translateY(${transform.y}px)` : undefined, transition };
  return (
    <div ref={setNodeRef} className={classes.line} style={style}>
      {isFixed ? (
        <span className={classes.noHandle} />
      ) : (
        <button type="button" className={classes.handle} aria-label={`Move ${column.header}`} {...attributes} {...listeners}>
          <Icon name="grip" size={15} />
        </button>
      )}
      <Switch
        size="sm"
        flex={1}
        label={column.header}
        checked={state.columnVisibility[column.id] !== false}
        onChange={(event) => change(withHidden(state, column.id, !event.currentTarget.checked))}
      />
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`Configure ${column.header}`} onClick={onConfigure}>
        <Icon name="settings" size={15} />
      </ActionIcon>
    </div>
  );
}
