import { ActionIcon, Button, CloseButton, Group, TextInput, Tooltip } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { Icon } from '../../ui/Icon';
import type { Table } from '../state/useTable';
import { ExportMenu } from '../transfer/ExportMenu';
import { kindOf } from '../views/kinds';
import { completeFilters, countFilters } from '../views/operators';
import { SortBuilder } from '../views/SortBuilder';
import { Tool } from '../views/Tool';
import { ColumnsList } from './ColumnsList';
import { HeightMenu } from './HeightMenu';
import classes from './Toolbar.module.css';

const FilterBuilder = lazy(() => import('../views/FilterBuilder'));

interface Props {
  table: Table;
  onConfigure: (columnId: string) => void;
  onReorder: (columnId: string, order: number) => void;
  onImport: () => void;
  onTrash: () => void;
  onGroup: () => void;
}

/** Toolbar: filter, sort, columns, search, undo. */
export function TableTools({ table, onConfigure, onReorder, onImport, onTrash, onGroup }: Props) {
  const { state, change } = table.views;
  const filters = countFilters(completeFilters(state.filters));
  const hidden = table.columns.length - table.shownColumns.length;
  return (
    <div className={classes.tools} role="toolbar" aria-label="Table tools">
      <Tool icon="filter" label={filters > 0 ? `Filter · ${filters}` : 'Filter'} isActive={filters > 0} width={640}>
        <Suspense>
          <FilterBuilder
            columns={table.columns}
            kindOf={(columnId) => kindOf(table.store.sampleOf(columnId), table.columns.find(({ id }) => id === columnId)?.format)}
            filters={state.filters}
            onChange={(next) => change({ ...state, filters: next })}
          />
        </Suspense>
      </Tool>
      <Tool icon="sort" label={state.sorting.length > 0 ? `Sort · ${state.sorting.length}` : 'Sort'} isActive={state.sorting.length > 0} width={440}>
        <SortBuilder columns={table.columns} sorting={state.sorting} onChange={(sorting) => change({ ...state, sorting })} />
      </Tool>
      <Tool icon="eye" label={hidden > 0 ? `${hidden} hidden` : 'Columns'} isActive={hidden > 0} width={280}>
        <ColumnsList table={table} onConfigure={onConfigure} onReorder={onReorder} />
      </Tool>
      <Button size="compact-md" fz="sm" fw={550} variant="subtle" color="gray" leftSection={<Icon name="group" size={16} />} style={{ flexShrink: 0 }} onClick={onGroup}>
        Group
      </Button>
      <HeightMenu table={table} />
      <TextInput
        id="table-search"
        size="xs"
        w={190}
        miw={120}
        aria-label="Search all cells"
        placeholder="Search"
        leftSection={<Icon name="search" size={15} />}
        value={table.search}
        onChange={(event) => table.setSearch(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && table.setSearch('')}
        rightSection={table.search && <CloseButton size="xs" aria-label="Clear the search" onClick={() => table.setSearch('')} />}
      />
      <span style={{ flex: 1 }} />
      <UndoRedo editor={table.editor} />
      <Tooltip label="Trash: what was deleted">
        <ActionIcon variant="subtle" color="gray" aria-label="Trash" onClick={onTrash}>
          <Icon name="trash" />
        </ActionIcon>
      </Tooltip>
      <Group gap={0} wrap="nowrap" hiddenFrom="sm">
        <Button variant="subtle" color="gray" px={10} leftSection={<Icon name="upload" />} onClick={onImport}>
          Import
        </Button>
        <ExportMenu table={table} />
      </Group>
    </div>
  );
}

function UndoRedo({ editor }: { editor: Table['editor'] }) {
  return (
    <>
      <Tooltip label="Undo · Ctrl + Z">
        <ActionIcon variant="subtle" color="gray" aria-label="Undo" disabled={!editor.canUndo} onClick={() => void editor.undo()}>
          <Icon name="undo" />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Redo · Ctrl + Shift + Z">
        <ActionIcon variant="subtle" color="gray" aria-label="Redo" disabled={!editor.canRedo} onClick={() => void editor.redo()}>
          <Icon name="redo" />
        </ActionIcon>
      </Tooltip>
    </>
  );
}
