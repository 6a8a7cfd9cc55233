import type { CellClickedEventArgs, DataEditorCoreProps, Item } from '@glideapps/glide-data-grid';
import { actionOf, type CellData } from './cellContent';
import { ACTION_WIDTH, RUN_BUTTON_WIDTH } from './cellRenderer';
import { CHECKBOX_WIDTH } from './drawDisplay';
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
      const content = getCellContent(item);
      // A checkbox takes every click; other buttons take the first of two.
      const isPressed = place && content.kind === 'custom' && (!isTwice || actionOf(content.data) === 'check') && pressed(props, content.data, place, event);
      if (isPressed) return event.preventDefault();
      if (place && isTwice && isComputed(columns, place.columnId)) {
        event.preventDefault();
        return props.onOpenCell(place);
      }
      if (!place || isTwice) return;
      if (event.isTouch || !hasRunButton(item)) return;
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

/** Handles a click on the button or the checkbox in a cell. Returns whether it was on one. */
function pressed(props: GridProps, data: CellData, place: CellPlace, event: CellClickedEventArgs): boolean {
  const { localEventX, bounds, isTouch, ctrlKey, metaKey, shiftKey } = event;
  const action = actionOf(data);
  const { display } = data;
  if (action === 'check' && display.kind === 'checkbox') {
    const isManual = props.columns.some(({ id, type }) => id === place.columnId && type === 'manual');
    if (!isManual || shiftKey || localEventX > CHECKBOX_WIDTH) return false;
    props.onTyped([{ ...place, text: String(!display.isChecked) }]);
    return true;
  }
  const isOnButton = !isTouch && localEventX > bounds.width - ACTION_WIDTH;
  const isOpened = action === 'open' && (ctrlKey || metaKey);
  if (action === undefined || !(isOnButton || isOpened)) return false;
  props.onAct(display);
  return true;
}
