import type { DataEditorCoreProps } from '@glideapps/glide-data-grid';
import type { RefObject } from 'react';
import { isLetter, openByLetter } from './firstLetter';
import type { GridHandle, GridProps } from './gridTypes';
import { type KeyAction, keyAction } from './keys';
import { cellSelection, type Selection } from './selection';

interface Options {
  selection: RefObject<Selection>;
  freezeColumns: number;
  firstVisibleColumn: RefObject<number>;
  boundsOf: GridHandle['boundsOf'];
}

/** Keys that open the details, a menu, or the editor of a frozen column. */
export function gridKeys(props: GridProps, options: Options): Pick<DataEditorCoreProps, 'onKeyDown'> {
  const { store, columns } = props;
  const { selection, freezeColumns, firstVisibleColumn, boundsOf } = options;
  const total = store.total ?? 0;

  /** Whether the selected cell is frozen while the columns next to it are scrolled out of sight. */
  const isFrozenAway = () => {
    const { cell } = selection.current;
    const index = cell ? columns.findIndex(({ id }) => id === cell.columnId) : -1;
    return index >= 0 && index < freezeColumns && index < firstVisibleColumn.current;
  };

  const perform = (action: KeyAction) => {
    if (action.kind === 'details') return props.onOpenCell(action);
    if (action.kind === 'keepCell') return props.onSelectionChange(cellSelection(action.rowIndex, action.columnId, columns));
    const bounds = action.kind === 'cellMenu' ? boundsOf(action.columnId, action.rowIndex) : boundsOf(action.columnId);
    if (!bounds) return;
    // Deferred: a menu closes on a key pressed outside it, and this key press is still being dispatched.
    setTimeout(() => {
      if (action.kind === 'headerMenu') props.onHeaderMenu(action.columnId, bounds);
      else props.onCellMenu(action, bounds.x + 12, bounds.y + bounds.height);
    });
  };

  return {
    onKeyDown: (event) => {
      const action = keyAction(event, selection.current, columns, total);
      const opensEditor = !action && isLetter(event) && isFrozenAway();
      if (!action && !opensEditor) return;
      event.cancel();
      event.preventDefault();
      if (action) perform(action);
      else openByLetter(event.key, event.rawEvent?.target ?? null);
    },
  };
}
