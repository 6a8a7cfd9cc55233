import type { DataEditorCoreProps, Item } from '@glideapps/glide-data-grid';
import { RUN_BUTTON_WIDTH } from './cellRenderer';
import type { CellPlace, GridProps } from './gridTypes';
import { isComputed } from './keys';
import type { useCellContent } from './useCellContent';
import { useDoubleClick } from './useDoubleClick';

type PointerHandlers = Pick<
  DataEditorCoreProps,
  'onCellClicked' | 'onCellContextMenu' | 'onItemHovered' | 'onHeaderMenuClick' | 'onHeaderContextMenu'
>;

/** Clicks, context menus and hovering, over cells and headers. */
export function useGridPointer(props: GridProps, getCellContent: ReturnType<typeof useCellContent>): PointerHandlers {
  const { store, columns } = props;
  const total = store.total ?? 0;
  const isDoubleClick = useDoubleClick();

  const placeOf = ([columnIndex, rowIndex]: Item): CellPlace | undefined => {
    const column = columns[columnIndex];
    return column && rowIndex >= 0 && rowIndex < total ? { rowIndex, columnId: column.id } : undefined;
  };
  const hasRunButton = (item: Item) => {
    const content = getCellContent(item);
    if (content.kind !== 'custom') return false;
    const { isProcessed, cell } = content.data;
    return isProcessed && cell.status === 'idle' && cell.value === null;
  };

  return {
    onCellClicked: (item, event) => {
      // The grid takes any two clicks for a double click, even on different cells; one click must only select.
      const isTwice = isDoubleClick(item, event.isTouch);
      if (event.isDoubleClick && !isTwice) event.preventDefault();
      const place = placeOf(item);
      if (place && isTwice && isComputed(columns, place.columnId)) {
        event.preventDefault();
        return props.onOpenCell(place);
      }
      if (!place || event.isTouch || !hasRunButton(item)) return;
      if (event.localEventX > event.bounds.width - RUN_BUTTON_WIDTH) props.onRunCell(place);
    },
    onCellContextMenu: ([columnIndex, rowIndex], event) => {
      event.preventDefault();
      const place = placeOf([Math.max(0, columnIndex), rowIndex]);
      if (place) props.onCellMenu(place, event.bounds.x + event.localEventX, event.bounds.y + event.localEventY);
    },
    onItemHovered: (event) => {
      const place = event.kind === 'cell' ? placeOf(event.location) : undefined;
      const cell = place && store.rowAt(place.rowIndex)?.cells[place.columnId];
      const header = event.kind === 'header' ? columns[event.location[0]] : undefined;
      props.onHoverHeader(header && event.kind === 'header' ? { columnId: header.id, bounds: event.bounds } : undefined);
      props.onHover(place && cell && event.kind === 'cell' ? { ...place, cell, bounds: event.bounds } : undefined);
    },
    onHeaderMenuClick: (columnIndex, bounds) => {
      const column = columns[columnIndex];
      if (column) props.onHeaderMenu(column.id, bounds);
    },
    onHeaderContextMenu: (columnIndex, event) => {
      event.preventDefault();
      const column = columns[columnIndex];
      if (column) props.onHeaderMenu(column.id, event.bounds);
    },
  };
}
