import { Text, Tooltip } from '@mantine/core';
import { formatNumber, pluralize } from '../ui/format';
import { CopyStrip } from './CopyStrip';
import { FirstSteps } from './FirstSteps';
import { isFiltered } from './rows/rowQuery';
import type { Table } from './state/useTable';
import classes from './Table.module.css';

export function StatusBar({ table }: { table: Table }) {
  const { selection, query } = table;
  const range = selection.range;
  const cells = range ? (range.endRow - range.firstRow) * (range.endColumn - range.firstColumn) : 0;
  return (
    <>
      <CopyStrip table={table} />
      <footer className={classes.status}>
        <Text size="xs" c="dimmed" aria-live="polite">
          {table.total === undefined ? 'Loading rows' : pluralize(table.total, 'row')}
          {isFiltered(query) && table.total !== undefined && (table.total === 1 ? ' matches' : ' match')}
          {cells > 1 && ` · ${formatNumber(cells)} cells selected`}
        </Text>
        {isFiltered(query) && (
          <Text size="xs" c="dimmed" visibleFrom="sm">
            Clear the filters to add rows
          </Text>
        )}
        <span style={{ flex: 1 }} />
        <FirstSteps />
        <Text size="xs" c="dimmed" visibleFrom="sm">
          Space: details · Ctrl + Enter: run selection · Ctrl + K: all commands
        </Text>
        <Tooltip
          label={
            table.isConnected !== false
              ? 'Changes by other people and by runs appear here live.'
              : 'Connection lost. Reconnecting; the data shown may be out of date.'
          }
        >
          <Text size="xs" c="dimmed" className={classes.live} data-connected={table.isConnected !== false} role="status">
            {table.isConnected === undefined ? 'Connecting' : table.isConnected ? 'Live' : 'Reconnecting'}
          </Text>
        </Tooltip>
      </footer>
    </>
  );
}
