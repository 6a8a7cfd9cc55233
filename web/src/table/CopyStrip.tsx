import { Progress, Text } from '@mantine/core';
import { formatNumber } from '../ui/format';
import type { Table } from './state/useTable';
import toolbar from './toolbar/Toolbar.module.css';

/** How far the copy of a project is, while its rows are copied. */
export function CopyStrip({ table }: { table: Table }) {
  const { copying } = table.project;
  if (!copying) return null;
  const copied = Math.min(table.total ?? 0, copying.rows);
  return (
    <div className={toolbar.progress} role="region" aria-label="Copy progress">
      <Text size="sm" fw={600} style={{ whiteSpace: 'nowrap' }}>
        Copying rows
      </Text>
      <Progress value={(copied / copying.rows) * 100} animated style={{ flex: 1, minWidth: 60 }} aria-label="Rows copied" />
      <Text size="sm" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
        {formatNumber(copied)} of {formatNumber(copying.rows)}
      </Text>
      <Text size="sm" c="dimmed" visibleFrom="sm">
        You can edit when all are there.
      </Text>
    </div>
  );
}
