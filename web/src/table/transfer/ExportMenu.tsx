import { Button, Menu, Text } from '@mantine/core';
import { prefix } from '../../api/base';
import { Icon } from '../../ui/Icon';
import { isPlain, queryParams, type RowQuery } from '../rows/rowQuery';
import type { Table } from '../state/useTable';

const KINDS: { label: string; note: string; params: Record<string, string> }[] = [
  { label: 'CSV for spreadsheets (safe)', note: 'Formulas are escaped with an apostrophe.', params: { format: 'csv', bom: 'true' } },
  { label: 'CSV with exact values', note: 'For programs. Values are unchanged.', params: { format: 'csv', formulas: 'keep' } },
  { label: 'JSON Lines', note: 'For programs. Keeps numbers, lists and objects.', params: { format: 'jsonl' } },
];

/** Downloads the current view or everything. The service streams it, so the browser keeps nothing in memory. */
export function ExportMenu({ table }: { table: Table }) {
  const { project, query, shownColumns, columns } = table;
  const isPart = !isPlain(query) || shownColumns.length < columns.length;
  const columnIds = shownColumns.length < columns.length ? shownColumns.map((column) => column.id) : undefined;
  const items = (shown?: RowQuery) =>
    KINDS.map(({ label, note, params }) => (
      <Menu.Item key={label} component="a" href={exportUrl(project.id, params, shown, shown && columnIds)} download leftSection={<Icon name="download" />}>
        {label}
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      </Menu.Item>
    ));
  return (
    <Menu position="bottom-end" width={310}>
      <Menu.Target>
        <Button variant="subtle" color="gray" px={10} leftSection={<Icon name="download" />} style={{ flexShrink: 0 }}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {isPart && (
          <>
            <Menu.Label>Current view</Menu.Label>
            {items(query)}
          </>
        )}
        <Menu.Label>All rows and columns</Menu.Label>
        {items()}
      </Menu.Dropdown>
    </Menu>
  );
}

function exportUrl(projectId: string, kind: Record<string, string>, query?: RowQuery, columnIds?: string[]): string {
  const params = new URLSearchParams({ ...kind, ...(query && queryParams(query)) });
  if (columnIds) params.set('columnIds', columnIds.join(','));
  return `${prefix}/v4/projects/${projectId}/export?${params.toString()}`;
}
