import { type RefObject, useEffect, useRef } from 'react';
import type { GridHandle } from './grid/gridTypes';
import { cellSelection, type Selection } from './grid/selection';
import { isBeingAdded } from './rows/optimisticRow';
import type { PanelTarget } from './state/panelTarget';
import type { Table } from './state/useTable';

/** Lets the details follow the selection while they are open. */
export function useFollowSelection(table: Table, panel: PanelTarget | undefined, show: (target: PanelTarget) => void): void {
  const { store, selection } = table;
  const { cell } = selection;
  const isOpen = panel?.kind === 'cell';
  const key = cell && `${cell.rowIndex} ${cell.columnId}`;
  const seen = useRef(key);
  useEffect(() => {
    // Opening the details is no move: they may show another cell than the selected one.
    if (!isOpen || key === seen.current) {
      seen.current = key;
      return undefined;
    }
    seen.current = key;
    if (!cell) return undefined;
    const follow = () => {
      const row = store.rowAt(cell.rowIndex);
      if (!row || isBeingAdded(row.id)) return false;
      show({ kind: 'cell', rowId: row.id, columnId: cell.columnId });
      return true;
    };
    if (follow()) return undefined;
    // The row is not loaded yet.
    const stop = store.subscribe(() => void (follow() && stop()));
    return stop;
  }, [isOpen, key, store]);
}

/** Selects a cell and scrolls to it. */
export function useGoTo(table: Table, grid: RefObject<GridHandle | null>) {
  const { store, shownColumns, setSelection } = table;
  const select = (selection: Selection) => {
    setSelection(selection);
    if (selection.cell) grid.current?.showCell(selection.cell.columnId, selection.cell.rowIndex);
  };
  const goTo = ({ rowId, columnId }: { rowId: string; columnId: string }) => {
    const rowIndex = store.indexOf(rowId);
    const isShown = shownColumns.some(({ id }) => id === columnId);
    if (rowIndex !== undefined && isShown) select(cellSelection(rowIndex, columnId, shownColumns));
  };
  return { select, goTo };
}
