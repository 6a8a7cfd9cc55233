import { lazy, Suspense, useRef, useState } from 'react';
import { Shell } from '../shell/Shell';
import { unsaved } from '../ui/unsaved';
import { useColumnActions } from './columns/useColumnActions';
import { useClipboard } from './editing/useClipboard';
import { useFinder } from './find/useFinder';
import type { GridHandle } from './grid/gridTypes';
import { GridArea } from './GridArea';
import { ProjectTrail } from './ProjectTrail';
import type { PanelTarget } from './state/panelTarget';
import type { Table } from './state/useTable';
import { StatusBar } from './StatusBar';
import { type Importing, TableDialogs } from './TableDialogs';
import classes from './Table.module.css';
import { type MenuTarget, TableMenus } from './TableMenus';
import { ProgressStrip } from './toolbar/ProgressStrip';
import { RunControl } from './toolbar/RunControl';
import { TableTools } from './toolbar/TableTools';
import { ViewTabs } from './toolbar/ViewTabs';
import { ImportStrip } from './toolbar/ImportStrip';
import { useFileDrop } from './useFileDrop';
import { useFollowSelection, useGoTo } from './useFollowSelection';
import { useScrollToColumn } from './useScrollToColumn';
import { useShortcuts } from './useShortcuts';

const TablePanel = lazy(() => import('./TablePanel'));

/** The table page: tools at the top, the grid below them, a side panel on the right. */
export function TableView({ table }: { table: Table }) {
  const frame = useRef<HTMLDivElement>(null);
  const grid = useRef<GridHandle>(null);
  const [panel, showPanel] = useState<PanelTarget>();
  const [menu, setMenu] = useState<MenuTarget>();
  const [importing, setImporting] = useState<Importing>();
  const [overlay, setOverlay] = useState<'commands' | 'help'>();
  const finder = useFinder();

  const { select, goTo } = useGoTo(table, grid);
  const setPanel = (target: PanelTarget | undefined) => unsaved.guard(() => showPanel(target));
  const openDetails = (rowId: string, columnId: string) => setPanel({ kind: 'cell', rowId, columnId });
  const openGallery = () => setPanel({ kind: 'gallery' });
  const openImport = () => setImporting({});
  const openRuns = () => setPanel({ kind: 'runs' });
  const closePanel = () => {
    if (!panel) return;
    setPanel(undefined);
    if (panel.kind === 'cell') goTo(panel);
    grid.current?.focus();
  };

  const actions = useColumnActions(table, setPanel);
  const clipboard = useClipboard(table, frame);
  const drop = useFileDrop((file) => setImporting({ file }));
  useShortcuts(table, frame, { onEscape: closePanel, onFind: finder.open, onCommands: () => setOverlay('commands'), onHelp: () => setOverlay('help') });
  useFollowSelection(table, panel, showPanel);
  useScrollToColumn(grid, panel?.kind === 'column' ? panel.columnId : undefined, table.shownColumns.length);

  return (
    <Shell trail={<ProjectTrail projectId={table.project.id} title={table.project.title} />} actions={<RunControl table={table} onImport={openImport} onRuns={openRuns} />}>
      <div className={classes.page} {...drop.handlers}>
        <ViewTabs views={table.views} />
        <TableTools table={table} onConfigure={actions.open} onReorder={actions.reorder} onImport={openImport} onTrash={() => setPanel({ kind: 'trash' })} onGroup={() => setPanel({ kind: 'groups' })} />
        <div className={classes.middle}>
          <GridArea
            table={table}
            actions={actions}
            frame={frame}
            grid={grid}
            isMenuOpen={menu !== undefined}
            onMenu={setMenu}
            onDetails={openDetails}
            onAddColumn={openGallery}
            onImport={openImport}
            finder={finder}
          />
          {panel && (
            <Suspense>
              <TablePanel table={table} target={panel} onOpen={setPanel} onSelect={select} onMade={(columnId) => showPanel({ kind: 'column', columnId })} onClose={closePanel} />
            </Suspense>
          )}
        </div>
        {!importing && <ImportStrip table={table} onShow={(jobId) => setImporting({ jobId })} />}
        <ProgressStrip table={table} onRun={(runId) => setPanel({ kind: 'run', runId })} />
        <StatusBar table={table} />
        {drop.isDropping && <div className={classes.drop}>Drop a CSV or JSON Lines file to import it</div>}
      </div>
      <TableMenus table={table} target={menu} actions={actions} grid={grid.current} onOpen={setMenu} onDetails={openDetails} onClose={() => setMenu(undefined)} />
      <TableDialogs
        table={table}
        clipboard={clipboard}
        importing={importing}
        onImporting={setImporting}
        {...{ overlay, onOverlay: setOverlay, onPanel: setPanel, onSelect: select, onFind: finder.open }}
      />
    </Shell>
  );
}
