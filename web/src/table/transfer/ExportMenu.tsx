import { Button, Menu } from '@mantine/core';
import { prefix } from '../../app/base';
import { Icon } from '../../ui/Icon';
import { isPlain, queryParams, type RowQuery } from '../rows/rowQuery';
import type { Table } from '../useTable';

/** Downloads what is shown, or everything. The service streams it, so the browser holds none of it. */
export function ExportMenu({ table }: { table: Table }) {
  const { project, query, shownColumns, columns } = table;
  const isPart = !isPlain(query) || shownColumns.length < columns.length;
  const columnIds = shownColumns.length < columns.length ? shownColumns.map((column) => column.id) : undefined;
  const link = (format: 'csv' | 'jsonl', isView: boolean) =>
    isView ? exportUrl(project.id, format, query, columnIds) : exportUrl(project.id, format);
  const item = (label: string, href: string) => (
    <Menu.Item component="a" href={href} download leftSection={<Icon name="download" />}>
      {label}
    </Menu.Item>
  );
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <Button variant="subtle" color="gray" px={10} leftSection={<Icon name="download" />} style={{ flexShrink: 0 }}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {isPart && (
          <>
            <Menu.Label>What is shown now</Menu.Label>
            {item('CSV', link('csv', true))}
            {item('JSON Lines', link('jsonl', true))}
          </>
        )}
        <Menu.Label>All rows and columns</Menu.Label>
        {item('CSV', link('csv', false))}
        {item('JSON Lines', link('jsonl', false))}
      </Menu.Dropdown>
    </Menu>
  );
}

function exportUrl(projectId: string, format: 'csv' | 'jsonl', query?: RowQuery, columnIds?: string[]): string {
  const params = new URLSearchParams({ format, ...(query && queryParams(query)) });
  if (columnIds) params.set('columnIds', columnIds.join(','));
  return `${prefix}/v4/projects/${projectId}/export?${params.toString()}`;
}
