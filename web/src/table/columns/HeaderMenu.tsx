import { Menu } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { statusQuery } from '../../api/queries';
import type { Column } from '../../api/types';
import { isProcessed } from '../../api/types';
import { ConfirmDialog } from '../../ui/ConfirmDialog';
import { formatNumber } from '../../ui/format';
import { Icon } from '../../ui/Icon';
import classes from '../../ui/Menu.module.css';
import { NameDialog } from '../../ui/NameDialog';
import { notifyError } from '../../ui/notify';
import type { Table } from '../state/useTable';
import { SummarySubmenu } from '../summaries/SummaryItems';
import { toggleCount } from '../views/headerFilters';
import { openFilters } from '../views/openFilters';
import { DeletionImpact } from './DeletionImpact';
import { FreezeItem } from './FreezeItem';
import { TypeItems } from './TypeItems';
import type { ColumnActions } from './useColumnActions';

export interface HeaderMenuTarget {
  columnId: string;
  bounds: { x: number; y: number; width: number; height: number };
}

interface Props {
  table: Table;
  target: HeaderMenuTarget;
  actions: ColumnActions;
  onClose: () => void;
}

/** Menu of a column's header. */
export function HeaderMenu({ table, target, actions, onClose }: Props) {
  const [dialog, setDialog] = useState<'rename' | 'delete'>();
  const column = table.columns.find((candidate) => candidate.id === target.columnId);
  if (!column) return null;
  const { bounds } = target;
  const run = (body: object) => void table.runs.run({ columnIds: [column.id], ...body });
  const isInput = column.trigger === true;

  return (
    <>
      <Menu opened={dialog === undefined} onClose={onClose} position="bottom-start" width={240} returnFocus>
        <Menu.Target>
          <span
            aria-hidden
            style={{ position: 'fixed', left: bounds.x, top: bounds.y, width: bounds.width, height: bounds.height, pointerEvents: 'none' }}
          />
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="settings" />} onClick={() => actions.open(column.id)}>
            {isProcessed(column) || column.type === 'reference' ? 'Configure' : 'About this column'}
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="pencil" />} closeMenuOnClick={false} onClick={() => setDialog('rename')}>
            Rename
          </Menu.Item>
          {!isInput && <TypeItems table={table} column={column} actions={actions} />}
          {isProcessed(column) && <RunItems projectId={table.project.id} columnId={column.id} onRun={run} />}
          <SortAndFilterItems table={table} column={column} />
          <Menu.Item leftSection={<Icon name="group" />} onClick={() => actions.group(column.id)}>
            Group by this column
          </Menu.Item>
          <SummarySubmenu table={table} column={column} />
          <Menu.Divider />
          <FreezeItem table={table} columnId={column.id} />
          <Menu.Item leftSection={<Icon name="eyeOff" />} onClick={() => actions.hide(column.id)}>
            Hide
          </Menu.Item>
          {!isInput && (
            <>
              <Menu.Item
                leftSection={<Icon name="copy" />}
                onClick={() => void actions.duplicate(column.id).catch((error: unknown) => notifyError(error))}
              >
                Duplicate
              </Menu.Item>
              <Menu.Divider />
              <Menu.Item className={classes.danger} leftSection={<Icon name="trash" />} closeMenuOnClick={false} onClick={() => setDialog('delete')}>
                Delete
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      {dialog && <HeaderDialog kind={dialog} table={table} column={column} actions={actions} onClose={onClose} />}
    </>
  );
}

interface RunItemsProps {
  projectId: string;
  columnId: string;
  onRun: (body: object) => void;
}

function RunItems({ projectId, columnId, onRun }: RunItemsProps) {
  const { failed, stale } = useCounts(projectId, columnId);
  return (
    <>
      <Menu.Divider />
      <Menu.Item leftSection={<Icon name="play" />} onClick={() => onRun({})}>
        Run this column
      </Menu.Item>
      <Menu.Item leftSection={<Icon name="warn" />} disabled={failed === 0} onClick={() => onRun({ statuses: ['error'] })}>
        Run failed cells{inBrackets(failed)}
      </Menu.Item>
      <Menu.Item leftSection={<Icon name="redo" />} disabled={stale === 0} onClick={() => onRun({ statuses: ['completed'] })}>
        Run outdated cells{inBrackets(stale)}
      </Menu.Item>
      <Menu.Item leftSection={<Icon name="redo" />} onClick={() => onRun({ force: true })}>
        Rerun all cells
      </Menu.Item>
    </>
  );
}

function SortAndFilterItems({ table, column }: { table: Table; column: Column }) {
  const { state, change } = table.views;
  const { failed, stale } = useCounts(table.project.id, column.id);
  const sort = (direction: 'asc' | 'desc') => change({ ...state, sorting: [{ columnId: column.id, direction }] });
  const show = (kind: 'failed' | 'stale') => change({ ...state, filters: toggleCount(state.filters, column.id, kind) });
  return (
    <>
      <Menu.Divider />
      <Menu.Item leftSection={<Icon name="arrowUp" />} onClick={() => sort('asc')}>
        Sort A to Z
      </Menu.Item>
      <Menu.Item leftSection={<Icon name="arrowDown" />} onClick={() => sort('desc')}>
        Sort Z to A
      </Menu.Item>
      <Menu.Item
        leftSection={<Icon name="filter" />}
        onClick={() => {
          change({ ...state, filters: [...state.filters, { columnId: column.id, operator: 'contains', value: '' }] });
          openFilters();
        }}
      >
        Filter by this column
      </Menu.Item>
      {isProcessed(column) && (
        <>
          <Menu.Item leftSection={<Icon name="warn" />} disabled={failed === 0} onClick={() => show('failed')}>
            Show failed cells{inBrackets(failed)}
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="eye" />} disabled={stale === 0} onClick={() => show('stale')}>
            Show outdated cells{inBrackets(stale)}
          </Menu.Item>
        </>
      )}
    </>
  );
}

function useCounts(projectId: string, columnId: string): { failed: number; stale: number } {
  const { data: status } = useQuery(statusQuery(projectId));
  const counts = status?.columns[columnId];
  return { failed: counts?.error ?? 0, stale: counts?.stale ?? 0 };
}

function inBrackets(count: number): string {
  return count > 0 ? ` (${formatNumber(count)})` : '';
}

interface DialogProps extends Omit<Props, 'target'> {
  kind: 'rename' | 'delete';
  column: Column;
}

function HeaderDialog({ kind, table, column, actions, onClose }: DialogProps) {
  if (kind === 'rename') {
    return (
      <NameDialog
        title="Rename column"
        label="Header"
        initial={column.header}
        action="Rename"
        onSubmit={(header) => actions.rename(column.id, header)}
        onClose={onClose}
      />
    );
  }
  return (
    <ConfirmDialog
      title={`Delete the column “${column.header}”?`}
      action="Delete column"
      onConfirm={() => actions.remove(column.id)}
      onClose={onClose}
    >
      <DeletionImpact table={table} column={column} />
    </ConfirmDialog>
  );
}
