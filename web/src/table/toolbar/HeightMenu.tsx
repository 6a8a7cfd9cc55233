import { ActionIcon, Menu, Tooltip } from '@mantine/core';
import { Icon } from '../../ui/Icon';
import { ROW_HEIGHT_LABELS, ROW_HEIGHTS, type RowHeight } from '../grid/rowHeights';
import type { Table } from '../state/useTable';

const HEIGHTS = Object.keys(ROW_HEIGHTS) as RowHeight[];

/** Chooses how tall rows are. Taller rows wrap their text. */
export function HeightMenu({ table }: { table: Table }) {
  const { rowHeight, setRowHeight } = table;
  return (
    <Menu position="bottom-start" width={170}>
      <Menu.Target>
        <Tooltip label={`Row height: ${ROW_HEIGHT_LABELS[rowHeight].toLowerCase()}`}>
          <ActionIcon variant={rowHeight === 'short' ? 'subtle' : 'light'} color={rowHeight === 'short' ? 'gray' : 'mill'} aria-label="Row height">
            <Icon name="rowHeight" size={17} />
          </ActionIcon>
        </Tooltip>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Row height</Menu.Label>
        {HEIGHTS.map((height) => (
          <Menu.RadioItem
            key={height}
            value={height}
            checked={height === rowHeight}
            checkIcon={<Icon name="check" size={15} />}
            closeMenuOnClick
            onChange={() => setRowHeight(height)}
          >
            {ROW_HEIGHT_LABELS[height]}
          </Menu.RadioItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
