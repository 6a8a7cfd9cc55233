import type { DataEditorCoreProps, GridSelection } from '@glideapps/glide-data-grid';
import { type RefObject, useEffect, useMemo, useRef } from 'react';
import type { GridProps } from './gridTypes';
import { type Selection, toGridSelection, toSelection } from './selection';

interface SelectionHandling {
  /** The newest selection. A key can arrive before React has rendered the selection it belongs to. */
  latest: RefObject<Selection>;
  handlers: Pick<DataEditorCoreProps, 'gridSelection' | 'onGridSelectionChange' | 'onDelete'>;
}

/** Keeps the grid's selection in step with ours, and clears or deletes what is selected. */
export function useGridSelection(
  { store, columns, selection, onSelectionChange, onClear, onDeleteRows }: GridProps,
  overPart: RefObject<boolean>,
): SelectionHandling {
  const latest = useRef(selection);
  useEffect(() => {
    latest.current = selection;
  }, [selection]);
  const gridSelection = useMemo(() => toGridSelection(selection, columns), [selection, columns]);
  return {
    latest,
    handlers: {
      gridSelection,
      onGridSelectionChange: (next: GridSelection) => {
        // Rows that are being loaded cannot be selected.
        if (store.total === undefined && next.columns.length === 0) return;
        // A click on a button in a header does not select the column.
        if (overPart.current && next.columns.length > 0) return;
        latest.current = toSelection(next, columns);
        onSelectionChange(latest.current);
      },
      // Always false: the grid would clear only the rows it has drawn.
      onDelete: (deleted) => {
        if (deleted.rows.length === 0) onClear(toSelection(deleted, columns));
        else onDeleteRows();
        return false;
      },
    },
  };
}
