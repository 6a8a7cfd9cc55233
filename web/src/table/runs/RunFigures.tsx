import { Table, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Estimate } from '../../api/types';
import { formatDollars, formatNumber, pluralize } from '../../ui/format';
import { basisText, batchText, costFigure, type Figure, notRunText, timeFigure } from './estimate';
import classes from './Runs.module.css';
import type { MeasuredRun } from './useRuns';

/** What a run is likely to take: cells, dollars and time, how that is known, and what it leaves out. */
export function RunFigures({ measured, isStale }: { measured: MeasuredRun; isStale: boolean }) {
  const { cells, byColumn, isAtMost, estimate } = measured;
  const columns = [...byColumn.values()].filter((number) => number > 0).length;
  const where = isAtMost ? 'at most' : columns > 1 ? `in ${pluralize(columns, 'column')}` : 'to run';
  const leftOut = estimate ? notRunText(estimate) : '';
  return (
    <>
      <dl className={classes.figures} data-stale={isStale || undefined}>
        <FigureItem label="Cells" value={formatNumber(cells)} note={where} />
        {estimate && <FigureItem label="Cost" {...costFigure(estimate)} />}
        {estimate && <FigureItem label="Time" {...timeFigure(estimate)} />}
      </dl>
      {estimate && columns > 1 && <ByColumn estimate={estimate} />}
      {estimate?.batch && <Text size="sm">{batchText(estimate)}</Text>}
      <div>
        {estimate && cells > 0 && <Note>{basisText(estimate)}</Note>}
        <Note>
          {leftOut && `Not run: ${leftOut}.`} {cells > 0 && 'Cells without their input are skipped.'}
        </Note>
      </div>
    </>
  );
}

function Note({ children }: { children: ReactNode }) {
  return (
    <Text size="sm" c="dimmed">
      {children}
    </Text>
  );
}

function ByColumn({ estimate }: { estimate: Estimate }) {
  return (
    <Table.ScrollContainer minWidth={0} maxHeight={200} type="native" tabIndex={0} role="region" aria-label="Cells and cost by column">
      <Table fz="sm" verticalSpacing={4} className={classes.numbers}>
        <Table.Tbody>
          {estimate.basis.map(({ columnId, header, cells, from, usd, disabled }) => (
            <Table.Tr key={columnId}>
              <Table.Td>{header}</Table.Td>
              <Table.Td ta="right">{pluralize(cells, 'cell')}</Table.Td>
              <Table.Td ta="right" c="dimmed">
                {disabled ? 'disabled' : from === 'free' ? 'free' : usd ? formatDollars(usd.likely) : 'no price'}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function FigureItem({ label, value, note }: Figure & { label: string }) {
  return (
    <div className={classes.figure}>
      <dt>{label}</dt>
      <dd>
        <div className={classes.figureValue}>{value}</div>
        <div className={classes.figureNote}>{note}</div>
      </dd>
    </div>
  );
}
