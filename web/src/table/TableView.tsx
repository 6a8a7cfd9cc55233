import { type DragEvent, lazy, Suspense, useEffect, useRef, useState } from 'react';
import { Shell } from '../shell/Shell';
import { notifyError } from '../ui/notify';
import { unsaved } from '../ui/unsaved';
import { HoverNote } from './cell/HoverNote';
import { AddColumnButton } from './columns/AddColumnButton';
import { InputNote } from './columns/InputNote';
import { useColumnActions } from './columns/useColumnActions';
import { deleteSelected, UNCONFIRMED_ROWS_MAX } from './editing/deleteRows';
import { countSelectedRows } from './editing/selectedRows';
import { clearSelected, useClipboard } from './editing/useClipboard';
import { useTypedCells } from './editing/useTypedCells';
import { EmptyTable, NoMatch } from './EmptyTable';
import { Grid, type GridHandle, type HoveredCell, type HoveredHeader } from './grid/Grid';
import { ProjectTrail } from './ProjectTrail';
import { isFiltered } from './rows/rowQuery';
import { RunDialog } from './runs/RunDialog';
import { SelectionBar } from './SelectionBar';
import type { PanelTarget } from './state/panelTarget';
import type { Table } from './state/useTable';
import { StatusBar } from './StatusBar';
import classes from './Table.module.css';
import { type MenuTarget, TableMenus } from './TableMenus';
import { ProgressStrip } from './toolbar/ProgressStrip';
import { RunControl } from './toolbar/RunControl';
import { TableTools } from './toolbar/TableTools';
import { ViewTabs } from './toolbar/ViewTabs';
import { useShortcuts } from './useShortcuts';

const TablePanel = lazy(() => import('./TablePanel'));
const ImportDialog = lazy(() => import('./transfer/ImportDialog'));
const PasteDialog = lazy(() => import('./editing/PasteDialog'));

/** A table: tools above, grid in the middle, a panel at the side. */
export function TableView({ table }: { table: Table }) {
  const { project, store } = table;
  const frame = useRef<HTMLDivElement>(null);
  const grid = useRef<GridHandle>(null);
  const [panel, showPanel] = useState<PanelTarget>();
  const setPanel = (target: PanelTarget | undefined) => unsaved.guard(() => showPanel(target));
  const [hovered, setHovered] = useState<HoveredCell>();
  const [header, setHeader] = useState<HoveredHeader>();
  const [menu, setMenu] = useState<MenuTarget>();
  const [importing, setImporting] = useState<{ file?: File }>();
  const [isAsked, setIsAsked] = useState(false);
  const [isDropping, setIsDropping] = useState(false);

  const actions = useColumnActions(table, setPanel);
  const onTyped = useTypedCells(table);
  const openDetails = (rowId: string, columnId: string) => setPanel({ kind: 'cell', rowId, columnId });
  const openCell = (rowIndex: number, columnId: string) => {
    const row = store.rowAt(rowIndex);
    if (row) openDetails(row.id, columnId);
  };
  const deleteRows = () => (countSelectedRows(table) > UNCONFIRMED_ROWS_MAX ? setIsAsked(true) : void deleteSelected(table));
  const clipboard = useClipboard(table, frame);
  const closePanel = () => {
    if (!panel) return;
    setPanel(undefined);
    grid.current?.focus();
  };
  useShortcuts(table, frame, closePanel);

  // A column that was just made, or is being configured, is brought into sight.
  const openColumn = panel?.kind === 'column' ? panel.columnId : undefined;
  const columnCount = table.shownColumns.length;
  useEffect(() => {
    if (!openColumn) return;
    // Once the panel has taken its place beside the grid, and the grid knows of the column: twice, as either may be late.
    let shown = 0;
    const timer = setInterval(() => {
      if (grid.current?.showColumn(openColumn)) shown += 1;
      if (shown === 2) clearInterval(timer);
    }, 150);
    return () => clearInterval(timer);
  }, [openColumn, columnCount]);

  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setIsDropping(false);
    const file = event.dataTransfer.files[0];
    if (file) setImporting({ file });
  };
  const hasFiles = (event: DragEvent) => event.dataTransfer.types.includes('Files');
  const isEmpty = table.total === 0 && !isFiltered(table.query);

  return (
    <Shell
      trail={<ProjectTrail projectId={project.id} title={project.title} />}
      actions={<RunControl table={table} onImport={() => setImporting({})} />}
    >
      <div
        className={classes.page}
        onDragOver={(event) => {
          if (!hasFiles(event)) return;
          event.preventDefault();
          setIsDropping(true);
        }}
        onDragLeave={(event) => event.currentTarget === event.target && setIsDropping(false)}
        onDrop={onDrop}
      >
        <ViewTabs views={table.views} />
        <TableTools
          table={table}
          onAddColumn={() => setPanel({ kind: 'gallery' })}
          onConfigure={actions.open}
          onImport={() => setImporting({})}
        />
        <div className={classes.middle}>
          <div className={classes.grid} ref={frame} onMouseLeave={() => (setHovered(undefined), setHeader(undefined))}>
            <Grid
              ref={grid}
              store={store}
              columns={table.shownColumns}
              widths={table.widths}
              frozenCount={table.frozenCount}
              canAddRows={!isFiltered(table.query) && table.total !== undefined}
              selection={table.selection}
              onSelectionChange={table.setSelection}
              onTyped={onTyped}
              onRunCell={({ rowIndex, columnId }) => {
                const row = store.rowAt(rowIndex);
                if (row) void table.runs.run({ rowIds: [row.id], columnIds: [columnId] });
              }}
              onOpenCell={({ rowIndex, columnId }) => openCell(rowIndex, columnId)}
              onClear={(selection) => void clearSelected(table, selection).catch((error: unknown) => notifyError(error, 'This was not saved'))}
              onDeleteRows={deleteRows}
              onHover={setHovered}
              onHoverHeader={setHeader}
              onColumnMoved={actions.move}
              onColumnResized={table.setWidth}
              onHeaderMenu={(columnId, bounds) => setMenu({ kind: 'header', columnId, bounds })}
              onCellMenu={(place, x, y) => {
                const row = store.rowAt(place.rowIndex);
                if (row) setMenu({ ...place, kind: 'cell', row, x, y });
              }}
              rightElement={<AddColumnButton onClick={() => setPanel({ kind: 'gallery' })} />}
            />
            {table.total === 0 && isFiltered(table.query) && <NoMatch table={table} />}
            {isEmpty && <EmptyTable table={table} onName={actions.rename} onImport={() => setImporting({})} onAddColumn={() => setPanel({ kind: 'gallery' })} />}
            <HoverNote table={table} hovered={menu ? undefined : hovered} frame={frame} />
            <InputNote table={table} hovered={menu ? undefined : header} />
            <SelectionBar table={table} isAsked={isAsked} setIsAsked={setIsAsked} onDelete={deleteRows} onOpenCell={openCell} />
          </div>
          {panel && (
            <Suspense>
              <TablePanel
                table={table}
                target={panel}
                onOpen={setPanel}
                onMade={(columnId) => showPanel({ kind: 'column', columnId })}
                onClose={closePanel}
              />
            </Suspense>
          )}
        </div>
        <ProgressStrip table={table} />
        <StatusBar table={table} />
        {isDropping && <div className={classes.drop}>Drop a CSV or JSON Lines file to import it</div>}
      </div>
      <TableMenus
        table={table}
        target={menu}
        actions={actions}
        grid={grid.current}
        onOpen={setMenu}
        onDetails={openDetails}
        onClose={() => setMenu(undefined)}
      />
      {importing && (
        <Suspense>
          <ImportDialog table={table} file={importing.file} onClose={() => setImporting(undefined)} />
        </Suspense>
      )}
      <RunDialog runs={table.runs} columns={table.columns} />
      {clipboard.offer && (
        <Suspense>
          <PasteDialog table={table} offer={clipboard.offer} onClose={clipboard.closeOffer} />
        </Suspense>
      )}
    </Shell>
  );
}
