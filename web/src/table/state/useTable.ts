import { useQuery } from '@tanstack/react-query';
import { useCallback, useDeferredValue, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { projectQuery } from '../../api/queries';
import type { Column, Project, Status } from '../../api/types';
import { useLocalStorage } from '../../ui/useLocalStorage';
import { useThrottled } from '../../ui/useThrottled';
import { countFrozen, FIRST_COLUMN } from '../grid/frozen';
import { type RowHeight, rowHeightOf } from '../grid/rowHeights';
import type { Selection } from '../grid/selection';
import type { Anchors } from '../grid/selectionAnchors';
import { useAnchoredSelection } from '../grid/useAnchoredSelection';
import { Editor } from '../rows/editor';
import type { SummaryKind } from '../model/summaryKinds';
import { withLostText } from '../rows/lostText';
import { notifyNotSaved } from '../rows/notifyNotSaved';
import { notifyUndone } from '../rows/notifyUndone';
import { rowApi } from '../rows/rowApi';
import type { RowQuery } from '../rows/rowQuery';
import type { RowStore } from '../rows/rowStore';
import { useProjectEvents } from '../rows/useProjectEvents';
import { useRowStore } from '../rows/useRowStore';
import { type Progress, NO_RUN, RunMeter } from '../runs/progress';
import { useRunningNotification } from '../runs/runningNotification';
import { type Runs, useRuns } from '../runs/useRuns';
import { completeFilters } from '../views/operators';
import { readAddress } from '../views/tableAddress';
import { useTableAddress } from '../views/useTableAddress';
import { useViews, type Views } from '../views/useViews';

/** State and actions shared by all parts of a table. */
export interface Table {
  project: Project;
  /** All columns in order, and the shown ones. */
  columns: Column[];
  shownColumns: Column[];
  query: RowQuery;
  store: RowStore;
  /** The row count; undefined until it is known. */
  total: number | undefined;
  editor: Editor;
  views: Views;
  runs: Runs;
  progress: Progress;
  search: string;
  setSearch: (search: string) => void;
  selection: Selection;
  setSelection: (selection: Selection) => void;
  /** The ids of the selected rows. */
  anchors: () => Anchors;
  widths: Record<string, number>;
  setWidth: (columnId: string, width: number) => void;
  /** The number of frozen columns on the left. */
  frozenCount: number;
  setFrozen: (columnId: string | null) => void;
  rowHeight: RowHeight;
  setRowHeight: (height: RowHeight) => void;
  /** What the bar below the table says of columns, by their id. */
  summaries: Readonly<Record<string, SummaryKind>>;
  setSummary: (columnId: string, kind: SummaryKind | undefined) => void;
  /** Undefined until the first connection. */
  isConnected: boolean | undefined;
}

/** What this browser remembers of the table's looks. */
function useLayout(projectId: string) {
  const [widths, setWidths] = useLocalStorage<Record<string, number>>(`widths:${projectId}`, {});
  const [frozen, setFrozen] = useLocalStorage<string | null>(`frozen:${projectId}`, FIRST_COLUMN);
  const [height, setRowHeight] = useLocalStorage<string>(`height:${projectId}`, 'short');
  const [summaries, setSummaries] = useLocalStorage<Record<string, SummaryKind>>(`summaries:${projectId}`, {});
  const setWidth = (columnId: string, width: number) => setWidths({ ...widths, [columnId]: width });
  const setSummary = (columnId: string, kind: SummaryKind | undefined) => {
    const { [columnId]: _, ...others } = summaries;
    setSummaries(kind ? { ...others, [columnId]: kind } : others);
  };
  return { widths, setWidth, frozen, setFrozen, rowHeight: rowHeightOf(height), setRowHeight, summaries, setSummary };
}

export function useTable(projectId: string): { table: Table | undefined; error: unknown; retry: () => void } {
  const project = useQuery(projectQuery(projectId));
  const views = useViews(projectId);
  const [search, setSearch] = useState(() => readAddress(window.location.search).search ?? '');
  const wanted = useDeferredValue(search.trim());
  useTableAddress(views, wanted);
  const { widths, frozen, ...layout } = useLayout(projectId);
  const [, setEdits] = useState(0);
  const [progress, setProgress] = useState(NO_RUN);
  const meter = useRef(new RunMeter());
  useRunningNotification(progress.isRunning);

  const query = useMemo(
    (): RowQuery => ({ filters: completeFilters(views.state.filters), sorting: views.state.sorting, search: wanted }),
    [views.state, wanted],
  );
  const store = useRowStore(projectId, query);
  const [selection, setSelection, anchors] = useAnchoredSelection(store);
  const showProgress = useThrottled<Progress>(setProgress, (next, shown) => next.isRunning !== shown?.isRunning || next.stopped !== shown.stopped);
  const isConnected = useProjectEvents(projectId, store, (status: Status) => showProgress(meter.current.read(status, Date.now())));

  const subscribe = useCallback((listener: () => void) => store.subscribe(listener), [store]);
  const total = useSyncExternalStore(subscribe, () => store.total);

  const columns = useMemo(() => project.data?.columns ?? [], [project.data]);
  const runs = useRuns(projectId, columns);
  const shownColumns = useMemo(
    () => columns.filter((column) => views.state.columnVisibility[column.id] !== false),
    [columns, views.state.columnVisibility],
  );

  const current = useRef({ store, columns, runs });
  current.current = { store, columns, runs };
  const editor = useMemo(
    () =>
      new Editor({
        api: withLostText(rowApi(projectId)),
        store: () => current.current.store,
        columns: () => current.current.columns,
        onError: notifyNotSaved,
        onChange: () => setEdits((edits) => edits + 1),
        onUndone: (undone) => notifyUndone(undone, current.current.runs.run),
      }),
    [projectId],
  );

  const table = project.data && {
    project: project.data,
    columns,
    shownColumns,
    query,
    store,
    total,
    editor,
    views,
    runs,
    progress,
    search,
    setSearch,
    selection,
    setSelection,
    anchors,
    widths,
    frozenCount: countFrozen(frozen, shownColumns, store.rowAt),
    ...layout,
    isConnected,
  };
  return { table, error: project.error, retry: () => void project.refetch() };
}
