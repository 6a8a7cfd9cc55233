import type { DataEditorCoreProps, EditListItem } from '@glideapps/glide-data-grid';
import { useRef } from 'react';
import { isRowmillCell, NEW_ROW } from './cellContent';
import type { CellPlace, GridProps, TypedCell } from './gridTypes';
import { cellSelection } from './selection';

/** Reports typed cells, and moves the selection on after a new row was typed. */
export function useCellEditing({ store, columns, onTyped, onSelectionChange }: GridProps): Pick<DataEditorCoreProps, 'onCellsEdited' | 'onFinishedEditing'> {
  const total = store.total ?? 0;
  const added = useRef<CellPlace>(undefined);

  const typedCell = ({ location: [columnIndex, rowIndex], value }: EditListItem): TypedCell | undefined => {
    const column = columns[columnIndex];
    if (!column || value.kind !== 'custom' || !isRowmillCell(value)) return undefined;
    const { text, typedInto, cell } = value.data;
    const place = { rowIndex, columnId: column.id, text };
    if (typedInto === NEW_ROW) return { ...place, rowIndex: store.total ?? 0, isNew: true };
    return { ...place, ...(typedInto && { row: { id: typedInto, before: cell } }) };
  };

  return {
    onCellsEdited: (edits) => {
      const typed = edits.map(typedCell).filter((cell) => cell !== undefined);
      onTyped(typed);
      added.current = typed.find((cell) => cell.isNew ?? (cell.rowIndex >= total && !cell.row));
      return true;
    },
    // The grid does not know the row that was just added, so it cannot move past it by itself.
    onFinishedEditing: (_, [right, down]) => {
      const place = added.current;
      added.current = undefined;
      if (place && down === 1) onSelectionChange(cellSelection(place.rowIndex + 1, place.columnId, columns));
      else if (place && right !== 0) {
        const index = columns.findIndex((column) => column.id === place.columnId) + right;
        const next = columns[Math.max(0, Math.min(index, columns.length - 1))];
        if (next) onSelectionChange(cellSelection(place.rowIndex, next.id, columns));
      }
    },
  };
}
