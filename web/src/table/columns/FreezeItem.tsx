import { Menu } from '@mantine/core';
import { Icon } from '../../ui/Icon';
import type { Table } from '../state/useTable';

/** Menu item that freezes the columns up to this one, or unfreezes them. */
export function FreezeItem({ table, columnId }: { table: Table; columnId: string }) {
  const isLast = table.shownColumns[table.frozenCount - 1]?.id === columnId;
  return (
    <Menu.Item leftSection={<Icon name="lock" />} onClick={() => table.setFrozen(isLast ? null : columnId)}>
      {isLast ? 'Unfreeze' : 'Freeze up to here'}
    </Menu.Item>
  );
}
