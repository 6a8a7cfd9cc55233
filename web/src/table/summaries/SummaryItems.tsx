import { Menu } from '@mantine/core';
import type { Column } from '../../api/types';
import { Icon } from '../../ui/Icon';
import { SUMMARY_LABELS, summaryKinds } from '../model/summaryKinds';
import type { Table } from '../state/useTable';

/** Items of a menu that choose what the bar below the table says of a column. */
export function SummaryItems({ table, column }: { table: Table; column: Column }) {
  const chosen = table.summaries[column.id];
  return (
    <>
      {summaryKinds(column.format).map((kind) => (
        <Menu.Item
          key={kind}
          rightSection={chosen === kind && <Icon name="check" size={15} label="Chosen" />}
          onClick={() => table.setSummary(column.id, kind)}
        >
          {SUMMARY_LABELS[kind]}
        </Menu.Item>
      ))}
      <Menu.Divider />
      <Menu.Item disabled={!chosen} onClick={() => table.setSummary(column.id, undefined)}>
        None
      </Menu.Item>
    </>
  );
}

/** The same as a submenu of a header's menu. */
export function SummarySubmenu({ table, column }: { table: Table; column: Column }) {
  const chosen = table.summaries[column.id];
  return (
    <Menu.Sub>
      <Menu.Sub.Target>
        <Menu.Sub.Item leftSection={<Icon name="sum" />}>Summary{chosen ? `: ${SUMMARY_LABELS[chosen]}` : ''}</Menu.Sub.Item>
      </Menu.Sub.Target>
      <Menu.Sub.Dropdown>
        <SummaryItems table={table} column={column} />
      </Menu.Sub.Dropdown>
    </Menu.Sub>
  );
}
