import { Menu } from '@mantine/core';
import { isProcessed, type Row } from '../../api/types';
import { Icon } from '../../ui/Icon';
import classes from '../../ui/Menu.module.css';
import { notifyError } from '../../ui/notify';
import { displayOf } from '../display/display';
import { deleteRows } from '../editing/deleteRows';
import { clearSelected } from '../editing/useClipboard';
import type { Table } from '../state/useTable';
import { actOn } from './actOn';

export interface CellMenuTarget {
  /** The row and its index when the menu was opened. */
  rowIndex: number;
  row: Row;
  columnId: string;
  x: number;
  y: number;
}

interface Props {
  table: Table;
  target: CellMenuTarget;
  onDetails: () => void;
  onHeaderMenu: () => void;
  onCopy: () => void;
  onClose: () => void;
}

/** Context menu of a cell and its row. */
export function CellMenu({ table, target, onDetails, onHeaderMenu, onCopy, onClose }: Props) {
  const { row } = target;
  const column = table.columns.find(({ id }) => id === target.columnId);
  if (!column) return null;
  const { runs } = table;
  const display = displayOf(row.cells[column.id]?.value);
  const isFilled = (row.cells[column.id]?.value ?? null) !== null;
  const hasRuns = table.columns.some(isProcessed);
  const { range } = table.selection;
  const isMany = range !== undefined && (range.endRow - range.firstRow) * (range.endColumn - range.firstColumn) > 1;
  return (
    <Menu opened onClose={onClose} position="bottom-start" width={220} returnFocus={false} withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <span
          aria-hidden
          aria-label={`Row ${target.rowIndex + 1}, ${column.header}`}
          style={{ position: 'fixed', left: target.x, top: target.y, width: 1, height: 1, pointerEvents: 'none' }}
        />
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<Icon name="info" />} onClick={onDetails}>
          Open details
        </Menu.Item>
        {(display.kind === 'link' || display.kind === 'email') && (
          <Menu.Item leftSection={<Icon name={display.kind === 'link' ? 'external' : 'mail'} />} onClick={() => actOn(display)}>
            {display.kind === 'link' ? 'Open link' : 'Copy e-mail address'}
          </Menu.Item>
        )}
        {isProcessed(column) && (
          <Menu.Item
            leftSection={<Icon name="play" />}
            onClick={() => void runs.run({ rowIds: [row.id], columnIds: [column.id], force: isFilled })}
          >
            {isFilled ? 'Run this cell again' : 'Run this cell'}
          </Menu.Item>
        )}
        {hasRuns && (
          <Menu.Item leftSection={<Icon name="play" />} onClick={() => void runs.run({ rowIds: [row.id] })}>
            Run this row
          </Menu.Item>
        )}
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="copy" />} onClick={onCopy}>
          Copy
        </Menu.Item>
        {(column.type !== 'reference' || isMany) && (
          <Menu.Item
            leftSection={<Icon name="close" />}
            onClick={() => void clearSelected(table).catch((error: unknown) => notifyError(error, 'The cells were not cleared'))}
          >
            Clear
          </Menu.Item>
        )}
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="table" />} onClick={onHeaderMenu}>
          Column menu
        </Menu.Item>
        <Menu.Item
          className={classes.danger}
          leftSection={<Icon name="trash" />}
          onClick={() => void deleteRows(table, [row]).catch((error: unknown) => notifyError(error, 'The row was not deleted'))}
        >
          Delete this row
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
