import { MultiSelect, NumberInput, Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { statusQuery } from '../../api/queries';
import { isProcessed } from '../../api/types';
import { formatNumber } from '../../ui/format';
import type { Table } from '../state/useTable';
import type { CellsKind, RowsKind, RunChoice } from '../runs/runChoice';
import { countCells } from '../runs/progress';
import classes from '../runs/Runs.module.css';

interface Props {
  table: Table;
  choice: RunChoice;
  /** How many rows are chosen one by one; 0 if none is. */
  selected: number;
  isPart: boolean;
  onChange: (choice: RunChoice) => void;
}

const FIRST_MAX = 1_000_000_000;

/** Which rows, cells and columns to run. */
export function RunChoices({ table, choice, selected, isPart, onChange }: Props) {
  const status = useQuery(statusQuery(table.project.id));
  const { failed, stale } = status.data ? countCells(status.data) : { failed: 0, stale: 0 };
  const all = status.data?.rows.total;
  const processed = table.columns.filter(isProcessed);
  const rows: { value: RowsKind; label: string }[] = [
    ...(selected > 0 ? [{ value: 'selected' as const, label: `Selected rows${counted(selected)}` }] : []),
    ...(isPart ? [{ value: 'shown' as const, label: `Rows in this view${counted(table.total)}` }] : []),
    { value: 'all', label: `All rows${counted(all)}` },
    { value: 'first', label: isPart ? 'First rows of this view' : 'First rows' },
  ];
  const cells: { value: CellsKind; label: string }[] = [
    { value: 'unfinished', label: 'Unfinished cells' },
    { value: 'failed', label: `Failed cells only${counted(failed)}` },
    { value: 'outdated', label: `Out-of-date cells only${counted(stale)}` },
    { value: 'again', label: 'All cells again' },
  ];
  return (
    <div className={classes.choices}>
      <Select
        label="Rows"
        data={rows}
        value={choice.rows}
        allowDeselect={false}
        onChange={(value) => onChange({ ...choice, rows: (value ?? 'all') as RowsKind })}
      />
      {choice.rows === 'first' && (
        <NumberInput
          label="How many rows"
          min={1}
          max={FIRST_MAX}
          allowDecimal={false}
          thousandSeparator=","
          value={choice.first}
          onChange={(value) => onChange({ ...choice, first: Math.max(1, Number(value) || 1) })}
        />
      )}
      <Select
        label="Cells"
        data={cells}
        value={choice.cells}
        allowDeselect={false}
        onChange={(value) => onChange({ ...choice, cells: (value ?? 'unfinished') as CellsKind })}
      />
      {processed.length > 1 && (
        <MultiSelect
          className={classes.wide}
          label="Columns"
          placeholder={choice.columnIds.length === 0 ? 'All columns' : undefined}
          data={processed.map(({ id, header }) => ({ value: id, label: header }))}
          value={choice.columnIds}
          clearable
          searchable
          onChange={(columnIds) => onChange({ ...choice, columnIds })}
        />
      )}
    </div>
  );
}

function counted(number: number | undefined): string {
  return number === undefined ? '' : ` (${formatNumber(number)})`;
}
