import type { Item } from '@glideapps/glide-data-grid';
import { useCallback } from 'react';
import { firstToType } from '../model/inputColumn';
import { cellContent, loadingContent, NEW_ROW } from './cellContent';
import type { GridProps } from './gridTypes';
import type { ColumnLook } from './useColumnLooks';

/** What the grid draws in each cell, read from the row store. A new `version` means that the store has changed. */
export function useCellContent({ store, columns, projectId }: GridProps, version: number, looks: ReadonlyMap<string, ColumnLook>) {
  const total = store.total ?? 0;
  const hintColumn = firstToType(columns, store.rowAt);
  return useCallback(
    ([columnIndex, rowIndex]: Item) => {
      const column = columns[columnIndex];
      if (!column || store.total === undefined) return loadingContent();
      if (rowIndex >= total) return cellContent(column, undefined, { rowId: NEW_ROW, ...(columnIndex === hintColumn && { hint: 'Type to add a row' }) });
      const row = store.rowAt(rowIndex);
      return row ? cellContent(column, row.cells[column.id], { rowId: row.id, style: looks.get(column.id)?.style, projectId }) : loadingContent();
    },
    [store, columns, total, version, hintColumn, looks, projectId],
  );
}
