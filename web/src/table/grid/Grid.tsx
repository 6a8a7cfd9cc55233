import '@glideapps/glide-data-grid/dist/index.css';
import {
  DataEditorCore,
  type DataEditorRef,
  type EditListItem,
  type GridColumn,
  type GridSelection,
  type Item,
  loadingCellRenderer,
  markerCellRenderer,
  type Rectangle,
} from '@glideapps/glide-data-grid';
import { useComputedColorScheme } from '@mantine/core';
import { useViewportSize } from '@mantine/hooks';
import { type ReactNode, type Ref, useCallback, useEffect, useImperativeHandle, useMemo, useRef } from 'react';
import type { Cell, Column } from '../../api/types';
import { columnIcon } from '../model/columnIcon';
import { firstToType, isUnusedInput } from '../model/inputColumn';
import type { RowStore } from '../rows/rowStore';
import { cellContent, isRowmillCell, loadingContent, NEW_ROW } from './cellContent';
import { cellRenderer, RUN_BUTTON_WIDTH } from './cellRenderer';
import { isLetter, openByLetter } from './firstLetter';
import { fitFrozen } from './frozen';
import classes from './Grid.module.css';
import { GRID_THEMES, STATUS_COLORS } from './gridTheme';
import { HEADER_ICONS } from './headerIcons';
import { isComputed, keyAction } from './keys';
import { noImages } from './noImages';
import { cellSelection, type Selection, toGridSelection, toSelection } from './selection';
import { useDoubleClick } from './useDoubleClick';
import { useFocusOnPress } from './useFocusOnPress';
import { useRedraw } from './useRedraw';

export interface CellPlace {
  rowIndex: number;
  columnId: string;
}

export interface HoveredCell extends CellPlace {
  cell: Cell;
  bounds: Rectangle;
}

export interface HoveredHeader {
  columnId: string;
  bounds: Rectangle;
}

export interface TypedCell extends CellPlace {
  text: string;
  /** The row that was opened, and what it held then; rows may have moved since. */
  row?: { id: string; before: Cell };
  /** It was typed into the row behind the last, and makes a row whatever has come since. */
  isNew?: boolean;
}

export interface GridHandle {
  /** Scrolls to a column; answers whether the grid has drawn it yet. */
  showColumn: (columnId: string) => boolean;
  focus: () => void;
  /** Where a cell is on the screen, or the header of a column. */
  boundsOf: (columnId: string, rowIndex?: number) => Rectangle | undefined;
}

export interface GridProps {
  store: RowStore;
  columns: readonly Column[];
  widths: Readonly<Record<string, number>>;
  frozenCount: number;
  /** Whether a row to type into follows the last. */
  canAddRows: boolean;
  selection: Selection;
  onSelectionChange: (selection: Selection) => void;
  onTyped: (cells: TypedCell[]) => void;
  onRunCell: (place: CellPlace) => void;
  onOpenCell: (place: CellPlace) => void;
  onClear: (selection: Selection) => void;
  onDeleteRows: () => void;
  onHover: (cell: HoveredCell | undefined) => void;
  onHoverHeader: (header: HoveredHeader | undefined) => void;
  onColumnMoved: (from: number, to: number) => void;
  onColumnResized: (columnId: string, width: number) => void;
  onHeaderMenu: (columnId: string, bounds: Rectangle) => void;
  onCellMenu: (place: CellPlace, x: number, y: number) => void;
  rightElement?: ReactNode;
  ref?: Ref<GridHandle>;
}

export const WIDTH_DEFAULT = 190;
const WIDTH_UNUSED = 84;
const NARROW_SCREEN = 640;
const ROW_HEIGHT = 33;
const RENDERERS = [markerCellRenderer, loadingCellRenderer] as NonNullable<
  React.ComponentProps<typeof DataEditorCore>['renderers']
>;

/** The grid, whatever draws it. Nothing outside this folder knows which library that is. */
export function Grid(props: GridProps) {
  const { store, columns, widths, canAddRows, selection, onHover, onHoverHeader } = props;
  const scheme = useComputedColorScheme('light');
  const editor = useRef<DataEditorRef>(null);
  const added = useRef<CellPlace>(undefined);
  const isDoubleClick = useDoubleClick();
  useFocusOnPress(editor);
  // A key may come before the selection it follows has been drawn.
  const chosen = useRef(selection);
  useEffect(() => {
    chosen.current = selection;
  }, [selection]);
  const firstInSight = useRef(0);
  const version = useRedraw(store, columns.length, editor);
  const total = store.total ?? 0;
  const { width: screenWidth } = useViewportSize();
  const rowCount = total + (canAddRows ? 1 : 0);

  const boundsOf = (columnId: string, rowIndex = -1) =>
    editor.current?.getBounds(columns.findIndex(({ id }) => id === columnId), rowIndex);
  useImperativeHandle(props.ref, () => ({
    boundsOf,
    focus: () => editor.current?.focus(),
    showColumn: (columnId) => {
      const index = columns.findIndex((column) => column.id === columnId);
      if (index >= 0) editor.current?.scrollTo(index, 0, 'horizontal', 40);
      return index >= 0 && boundsOf(columnId) !== undefined;
    },
  }));

  // An empty column is not worth half of a small screen.
  const isFirstNarrow = screenWidth > 0 && screenWidth < NARROW_SCREEN && isUnusedInput(columns[0]?.id, store.rowAt);
  const gridColumns = useMemo(
    () =>
      columns.map(
        (column, place): GridColumn => ({
          id: column.id,
          title: column.header,
          icon: columnIcon(column),
          hasMenu: true,
          width: widths[column.id] ?? (place === 0 && isFirstNarrow ? WIDTH_UNUSED : WIDTH_DEFAULT),
        }),
      ),
    [columns, widths, isFirstNarrow],
  );

  const hintColumn = firstToType(columns, store.rowAt);
  const getCellContent = useCallback(
    ([columnIndex, rowIndex]: Item) => {
      const column = columns[columnIndex];
      if (!column) return loadingContent();
      if (rowIndex >= total) return cellContent(column, undefined, { rowId: NEW_ROW, ...(columnIndex === hintColumn && { hint: 'Type to add a row' }) });
      const row = store.rowAt(rowIndex);
      return row ? cellContent(column, row.cells[column.id], { rowId: row.id }) : loadingContent();
    },
    // `version` says that the store holds something else now.
    [store, columns, total, version, hintColumn],
  );

  const placeOf = ([columnIndex, rowIndex]: Item): CellPlace | undefined => {
    const column = columns[columnIndex];
    return column && rowIndex >= 0 && rowIndex < total ? { rowIndex, columnId: column.id } : undefined;
  };

  const onCellsEdited = (edits: readonly EditListItem[]) => {
    const typed: TypedCell[] = [];
    for (const { location, value } of edits) {
      const column = columns[location[0]];
      if (column && value.kind === 'custom' && isRowmillCell(value)) {
        const { text, typedInto, cell } = value.data;
        const place = { rowIndex: location[1], columnId: column.id, text };
        if (typedInto === NEW_ROW) typed.push({ ...place, rowIndex: store.total ?? 0, isNew: true });
        else typed.push({ ...place, ...(typedInto && { row: { id: typedInto, before: cell } }) });
      }
    }
    props.onTyped(typed);
    added.current = typed.find((cell) => cell.isNew ?? (cell.rowIndex >= total && !cell.row));
    return true;
  };

  /** Enter in the row that was just added goes on to the next one, which the grid does not know of yet. */
  const onFinishedEditing = (_: unknown, [right, down]: Item) => {
    const place = added.current;
    added.current = undefined;
    if (place && down === 1) props.onSelectionChange(cellSelection(place.rowIndex + 1, place.columnId, columns));
    else if (place && right !== 0) {
      const index = columns.findIndex((column) => column.id === place.columnId) + right;
      const next = columns[Math.max(0, Math.min(index, columns.length - 1))];
      if (next) props.onSelectionChange(cellSelection(place.rowIndex, next.id, columns));
    }
  };

  const frozenCount = fitFrozen(props.frozenCount, gridColumns.map((column) => ('width' in column ? column.width : WIDTH_DEFAULT)), screenWidth);
  /** Whether the selected cell is in a frozen column and the ones next to it are scrolled away. */
  const isFrozenAway = () => {
    const { cell } = chosen.current;
    const index = cell ? columns.findIndex(({ id }) => id === cell.columnId) : -1;
    return index >= 0 && index < frozenCount && index < firstInSight.current;
  };
  const gridSelection = useMemo(() => toGridSelection(selection, columns), [selection, columns]);
  const customRenderers = useMemo(() => [cellRenderer(STATUS_COLORS[scheme])], [scheme]);

  return (
    <DataEditorCore
      ref={editor}
      className={classes.grid}
      width="100%"
      height="100%"
      theme={GRID_THEMES[scheme]}
      columns={gridColumns}
      rows={rowCount}
      getCellContent={getCellContent}
      getCellsForSelection
      customRenderers={customRenderers}
      renderers={RENDERERS}
      imageWindowLoader={noImages}
      headerIcons={HEADER_ICONS}
      rowHeight={ROW_HEIGHT}
      headerHeight={36}
      freezeColumns={frozenCount}
      rowMarkers={{ kind: 'both', checkboxStyle: 'square' }}
      rowSelect="multi"
      columnSelect="single"
      rangeSelect="rect"
      minColumnWidth={60}
      maxColumnWidth={900}
      smoothScrollX
      smoothScrollY
      fillHandle={{ size: 7, shape: 'square', outline: 0, offsetX: -2, offsetY: -2 }}
      allowedFillDirections="vertical"
      keybindings={{ downFill: true, search: false, copy: false, cut: false, paste: false, activateCell: 'Enter|shift+Enter|F2' }}
      gridSelection={gridSelection}
      onGridSelectionChange={(next: GridSelection) => {
        chosen.current = toSelection(next, columns);
        props.onSelectionChange(chosen.current);
      }}
      onCellsEdited={onCellsEdited}
      onFinishedEditing={onFinishedEditing}
      cellActivationBehavior="double-click"
      onDelete={(deleted) => {
        // Not left to the grid, which knows only the rows in sight.
        if (deleted.rows.length === 0) props.onClear(toSelection(deleted, columns));
        else props.onDeleteRows();
        return false;
      }}
      onCellClicked={(item, event) => {
        // The grid counts any two clicks on the page; one click on a cell must only select it.
        const isTwice = isDoubleClick(item, event.isTouch);
        if (event.isDoubleClick && !isTwice) event.preventDefault();
        const place = placeOf(item);
        if (place && isTwice && isComputed(columns, place.columnId)) {
          event.preventDefault();
          return props.onOpenCell(place);
        }
        const content = getCellContent(item);
        const isIdle = content.kind === 'custom' && content.data.isProcessed && content.data.cell.status === 'idle';
        if (!place || !isIdle || content.data.cell.value !== null || event.isTouch) return;
        if (event.localEventX > event.bounds.width - RUN_BUTTON_WIDTH) props.onRunCell(place);
      }}
      onKeyDown={(event) => {
        const action = keyAction(event, chosen.current, columns, total);
        if (!action && isLetter(event) && isFrozenAway()) {
          event.cancel();
          event.preventDefault();
          return openByLetter(event.key, event.rawEvent?.target ?? null);
        }
        if (!action) return;
        event.cancel();
        event.preventDefault();
        if (action.kind === 'details') return props.onOpenCell(action);
        const bounds = action.kind === 'cellMenu' ? boundsOf(action.columnId, action.rowIndex) : boundsOf(action.columnId);
        if (!bounds) return;
        // Later, because a menu closes by keys pressed outside it, and this one is still on its way.
        setTimeout(() => {
          if (action.kind === 'headerMenu') props.onHeaderMenu(action.columnId, bounds);
          else props.onCellMenu(action, bounds.x + 12, bounds.y + bounds.height);
        });
      }}
      onCellContextMenu={([columnIndex, rowIndex], event) => {
        event.preventDefault();
        const place = placeOf([Math.max(0, columnIndex), rowIndex]);
        if (place) props.onCellMenu(place, event.bounds.x + event.localEventX, event.bounds.y + event.localEventY);
      }}
      onItemHovered={(event) => {
        const place = event.kind === 'cell' ? placeOf(event.location) : undefined;
        const cell = place && store.rowAt(place.rowIndex)?.cells[place.columnId];
        const header = event.kind === 'header' ? columns[event.location[0]] : undefined;
        onHoverHeader(header && event.kind === 'header' ? { columnId: header.id, bounds: event.bounds } : undefined);
        onHover(place && cell && event.kind === 'cell' ? { ...place, cell, bounds: event.bounds } : undefined);
      }}
      onVisibleRegionChanged={(range) => {
        firstInSight.current = range.x;
        store.setVisibleRange(range.y, range.y + range.height);
      }}
      onColumnMoved={props.onColumnMoved}
      onColumnProposeMove={(from, to) => from !== 0 && to !== 0}
      onColumnResize={(column, width) => column.id && props.onColumnResized(column.id, width)}
      onHeaderMenuClick={(columnIndex, bounds) => {
        const column = columns[columnIndex];
        if (column) props.onHeaderMenu(column.id, bounds);
      }}
      onHeaderContextMenu={(columnIndex, event) => {
        event.preventDefault();
        const column = columns[columnIndex];
        if (column) props.onHeaderMenu(column.id, event.bounds);
      }}
      rightElement={props.rightElement}
      rightElementProps={{ fill: false, sticky: false }}
    />
  );
}
