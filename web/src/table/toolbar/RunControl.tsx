import { Button, Group, Menu } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { statusQuery } from '../../api/queries';
import { isProcessed } from '../../api/types';
import { formatNumber } from '../../ui/format';
import { Icon } from '../../ui/Icon';
import classes from '../../ui/Menu.module.css';
import { isFiltered, runBody } from '../rows/rowQuery';
import { countCells } from '../runs/progress';
import type { Table } from '../state/useTable';
import { ExportMenu } from '../transfer/ExportMenu';

/** Import, export, and the run and stop buttons. */
export function RunControl({ table, onImport, onRuns }: { table: Table; onImport: () => void; onRuns: () => void }) {
  const { runs, progress, query, project } = table;
  const status = useQuery(statusQuery(project.id));
  const { failed, stale } = status.data ? countCells(status.data) : { failed: 0, stale: 0 };
  const processed = table.columns.filter(isProcessed);
  const shown = runBody(query);
  const isPart = isFiltered(query);

  return (
    <Group gap={6} wrap="nowrap">
      <Group gap={6} wrap="nowrap" visibleFrom="sm">
        <Button variant="subtle" color="gray" px={10} leftSection={<Icon name="upload" />} onClick={onImport}>
          Import
        </Button>
        <ExportMenu table={table} />
      </Group>
      {progress.isRunning ? (
        <Button color="red" variant="light" leftSection={<Icon name="stop" size={16} />} loading={runs.isStopping} onClick={() => void runs.stop()}>
          Stop
        </Button>
      ) : (
        <Button.Group>
          <Button
            leftSection={<Icon name="play" size={16} />}
            loading={runs.isStarting}
            disabled={processed.length === 0}
            title={processed.length === 0 ? 'First add a column that fills itself' : isPart ? 'Runs the rows shown' : undefined}
            onClick={() => void runs.run(shown)}
          >
            Run
          </Button>
          <Menu position="bottom-end" width={270}>
            <Menu.Target>
              <Button px={8} aria-label="Run options" disabled={processed.length === 0}>
                <Icon name="chevronDown" size={16} />
              </Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Label>Unfinished cells</Menu.Label>
              {isPart && <Menu.Item onClick={() => void runs.run(shown)}>Rows shown</Menu.Item>}
              <Menu.Item onClick={() => void runs.run({})}>All rows</Menu.Item>
              <Menu.Item onClick={() => void runs.run({ ...shown, limit: 10 })}>First 10 rows</Menu.Item>
              <Menu.Item disabled={failed === 0} onClick={() => void runs.run({ statuses: ['error'] })}>
                Failed cells only{failed > 0 && ` (${formatNumber(failed)})`}
              </Menu.Item>
              <Menu.Item disabled={stale === 0} onClick={() => void runs.run({ statuses: ['completed'] })}>
                Out-of-date cells only{stale > 0 && ` (${formatNumber(stale)})`}
              </Menu.Item>
              <Menu.Item onClick={() => runs.choose(shown)}>Choose what to run…</Menu.Item>
              <Menu.Divider />
              <Menu.Label>One column</Menu.Label>
              {processed.slice(0, 12).map((column) => (
                <Menu.Item key={column.id} onClick={() => void runs.run({ columnIds: [column.id] })}>
                  {column.header}
                </Menu.Item>
              ))}
              <Menu.Divider />
              <Menu.Item className={classes.danger} onClick={() => void runs.run({ force: true })}>
                Rerun all cells
              </Menu.Item>
              <Menu.Divider />
              <Menu.Item onClick={onRuns}>Past runs</Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </Button.Group>
      )}
    </Group>
  );
}
