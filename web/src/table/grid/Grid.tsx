import '@glideapps/glide-data-grid/dist/index.css';
import { DataEditorCore, type DataEditorCoreProps, type DataEditorRef, loadingCellRenderer, markerCellRenderer } from '@glideapps/glide-data-grid';
import { useComputedColorScheme } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useMemo, useRef } from 'react';
import { cellRenderer } from './cellRenderer';
import { headerDrawer } from './drawHeader';
import classes from './Grid.module.css';
import { GridFooter } from './GridFooter';
import { gridKeys } from './gridKeys';
import { CELL_COLORS, GRID_THEMES } from './gridTheme';
import type { GridProps } from './gridTypes';
import { HEADER_ICONS } from './headerIcons';
import { headerPointer } from './headerPointer';
import { ROW_HEIGHTS } from './rowHeights';
import { useCellContent } from './useCellContent';
import { useCellEditing } from './useCellEditing';
import { useColumnLooks } from './useColumnLooks';
import { useFocusOnPress } from './useFocusOnPress';
import { useGridColumns } from './useGridColumns';
import { useGridHandle } from './useGridHandle';
import { useGridPointer } from './useGridPointer';
import { useGridSelection } from './useGridSelection';
import { useRedraw } from './useRedraw';
import { useRowMarkers } from './useRowMarkers';
import { useThumbnails } from './useThumbnails';

/** Settings of the grid library that never change. */
const OPTIONS = {
  width: '100%',
  height: '100%',
  renderers: [markerCellRenderer, loadingCellRenderer] as NonNullable<DataEditorCoreProps['renderers']>,
  headerIcons: HEADER_ICONS,
  headerHeight: 36,
  minColumnWidth: 60,
  maxColumnWidth: 900,
  smoothScrollX: true,
  smoothScrollY: true,
  rowSelect: 'multi',
  columnSelect: 'single',
  rangeSelect: 'rect',
  getCellsForSelection: true,
  cellActivationBehavior: 'double-click',
  fillHandle: { size: 7, shape: 'square', outline: 0, offsetX: -2, offsetY: -2 },
  allowedFillDirections: 'vertical',
  keybindings: { downFill: true, search: false, copy: false, cut: false, paste: false, activateCell: 'Enter|shift+Enter|F2' },
  rightElementProps: { fill: false, sticky: true },
} satisfies Partial<DataEditorCoreProps>;

/** Rows to show while the first page of a list is loaded: more than a screen has. */
const SKELETON_ROWS = 80;

/** The grid. Only this folder knows which library draws it. */
export function Grid(props: GridProps) {
  const { store, columns } = props;
  const scheme = useComputedColorScheme('light');
  const editor = useRef<DataEditorRef>(null);
  const firstVisibleColumn = useRef(0);
  useFocusOnPress(editor);
  const version = useRedraw(store, columns.length, editor);
  const rowMarkers = useRowMarkers(store.total);
  const { boundsOf } = useGridHandle(props, editor);
  const frame = useElementSize();
  const { gridColumns, freezeColumns, hasRoom } = useGridColumns(props, frame.width);
  const looks = useColumnLooks(props, version);
  const getCellContent = useCellContent(props, version, looks);
  const overPart = useRef(false);
  const selection = useGridSelection(props, overPart);
  const editing = useCellEditing(props);
  const keys = gridKeys(props, { selection: selection.latest, freezeColumns, firstVisibleColumn, boundsOf });
  const pointer = { ...useGridPointer(props, getCellContent), ...headerPointer(props, overPart) };
  const thumbnails = useThumbnails();
  const customRenderers = useMemo(() => [cellRenderer(CELL_COLORS[scheme], thumbnails)], [scheme, thumbnails]);
  const drawHeader = useMemo(() => headerDrawer({ columns, states: props.headers, looks, colors: CELL_COLORS[scheme] }), [columns, props.headers, looks, scheme]);

  return (
    <div ref={frame.ref} className={classes.frame}>
      <div className={classes.body}>
        <DataEditorCore
          {...OPTIONS}
          {...selection.handlers}
          {...editing}
          {...keys}
          {...pointer}
          ref={editor}
          imageWindowLoader={thumbnails}
          className={classes.grid}
          theme={GRID_THEMES[scheme]}
          columns={gridColumns}
          rowMarkers={rowMarkers}
          rowHeight={ROW_HEIGHTS[props.rowHeight]}
          freezeColumns={freezeColumns}
          rows={(store.total ?? SKELETON_ROWS) + (props.canAddRows ? 1 : 0)}
          getCellContent={getCellContent}
          customRenderers={customRenderers}
          drawHeader={drawHeader}
          onVisibleRegionChanged={(range) => {
            firstVisibleColumn.current = range.x;
            store.setVisibleRange(range.y, range.y + range.height);
          }}
          onColumnMoved={props.onColumnMoved}
          onColumnProposeMove={(from, to) => from !== 0 && to !== 0}
          onColumnResize={(column, width) => column.id && props.onColumnResized(column.id, width)}
          rightElement={props.rightElement?.(hasRoom)}
        />
      </div>
      {props.footer && (
        <GridFooter columns={gridColumns} freezeColumns={freezeColumns} markersWidth={rowMarkers.width} render={props.footer} />
      )}
    </div>
  );
}
