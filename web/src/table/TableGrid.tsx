import { type RefObject, useState } from 'react';
import { notifyError } from '../ui/notify';
import { actOn } from './cell/actOn';
import { HoverNote } from './cell/HoverNote';
import { AddColumnButton } from './columns/AddColumnButton';
import { HeaderNote } from './columns/HeaderNote';
import { InputNote } from './columns/InputNote';
import type { ColumnActions } from './columns/useColumnActions';
import { useHeaderClicks } from './columns/useHeaderClicks';
import { useHeaderStates } from './columns/useHeaderStates';
import { deleteSelected, UNCONFIRMED_ROWS_MAX } from './editing/deleteRows';
import { countSelectedRows } from './editing/selectedRows';
import { clearSelected } from './editing/useClipboard';
import { useTypedCells } from './editing/useTypedCells';
import { EmptyTable, NoMatch } from './EmptyTable';
import { Grid } from './grid/Grid';
import type { GridHandle, HoveredCell, HoveredHeader } from './grid/gridTypes';
import { isFiltered } from './rows/rowQuery';
import { SelectionBar } from './SelectionBar';
import type { Table } from './state/useTable';
import { SummaryCell } from './summaries/SummaryCell';
import { useSummaries } from './summaries/useSummaries';
import classes from './Table.module.css';
import type { MenuTarget } from './TableMenus';

interface Props {
  table: Table;
  actions: ColumnActions;
  frame: RefObject<HTMLDivElement | null>;
  grid: RefObject<GridHandle | null>;
  isMenuOpen: boolean;
  onMenu: (target: MenuTarget) => void;
  onDetails: (rowId: string, columnId: string) => void;
  onAddColumn: () => void;
  onImport: () => void;
}

/** The grid with everything that lies over it: empty states, hover notes, the bar for selected rows. */
export function TableGrid({ table, actions, frame, grid, isMenuOpen, onMenu, onDetails, onAddColumn, onImport }: Props) {
  const { store, query } = table;
  const [hovered, setHovered] = useState<HoveredCell>();
  const [header, setHeader] = useState<HoveredHeader>();
  const [isConfirming, setIsConfirming] = useState(false);
  const onTyped = useTypedCells(table);
  const headers = useHeaderStates(table);
  const onHeaderPart = useHeaderClicks(table, actions.showRuns);
  const figures = useSummaries(table);
  const openCell = (rowIndex: number, columnId: string) => {
    const row = store.rowAt(rowIndex);
    if (row) onDetails(row.id, columnId);
  };
  const deleteRows = () => (countSelectedRows(table) > UNCONFIRMED_ROWS_MAX ? setIsConfirming(true) : void deleteSelected(table));

  return (
    <div className={classes.grid} ref={frame} onMouseLeave={() => (setHovered(undefined), setHeader(undefined))}>
      <Grid
        ref={grid}
        projectId={table.project.id}
        store={store}
        columns={table.shownColumns}
        widths={table.widths}
        frozenCount={table.frozenCount}
        rowHeight={table.rowHeight}
        headers={headers}
        canAddRows={!isFiltered(query) && table.total !== undefined}
        selection={table.selection}
        onSelectionChange={table.setSelection}
        onTyped={onTyped}
        onRunCell={({ rowIndex, columnId }) => {
          const row = store.rowAt(rowIndex);
          if (row) void table.runs.run({ rowIds: [row.id], columnIds: [columnId] });
        }}
        onAct={actOn}
        onOpenCell={({ rowIndex, columnId }) => openCell(rowIndex, columnId)}
        onClear={(selection) => void clearSelected(table, selection).catch((error: unknown) => notifyError(error, 'This was not saved'))}
        onDeleteRows={deleteRows}
        onHover={setHovered}
        onHoverHeader={setHeader}
        onColumnMoved={actions.move}
        onColumnResized={table.setWidth}
        onHeaderPart={onHeaderPart}
        onHeaderMenu={(columnId, bounds) => onMenu({ kind: 'header', columnId, bounds })}
        onCellMenu={(place, x, y) => {
          const row = store.rowAt(place.rowIndex);
          if (row) onMenu({ ...place, kind: 'cell', row, x, y });
        }}
        footer={figures.size > 0 ? (columnId) => summaryOf(table, columnId, figures.get(columnId)) : undefined}
        rightElement={(hasRoom) => <AddColumnButton hasRoom={hasRoom} onClick={onAddColumn} />}
      />
      {table.total === 0 && isFiltered(query) && <NoMatch table={table} />}
      {table.total === 0 && !isFiltered(query) && (
        <EmptyTable table={table} onName={actions.rename} onImport={onImport} onAddColumn={onAddColumn} />
      )}
      <HoverNote table={table} hovered={isMenuOpen ? undefined : hovered} frame={frame} />
      <HeaderNote table={table} hovered={isMenuOpen ? undefined : header} />
      <InputNote table={table} hovered={isMenuOpen ? undefined : header} />
      <SelectionBar table={table} isConfirming={isConfirming} setIsConfirming={setIsConfirming} onDelete={deleteRows} onOpenCell={openCell} />
    </div>
  );
}

function summaryOf(table: Table, columnId: string, text: string | undefined) {
  const column = table.columns.find(({ id }) => id === columnId);
  return column && <SummaryCell table={table} column={column} text={text} />;
}
