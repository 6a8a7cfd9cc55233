import type { DataEditorRef } from '@glideapps/glide-data-grid';
import { type RefObject, useImperativeHandle } from 'react';
import type { GridHandle, GridProps } from './gridTypes';

/** The methods of the grid's ref: scroll to a column, focus, positions on the screen. */
export function useGridHandle({ ref, columns }: GridProps, editor: RefObject<DataEditorRef | null>): GridHandle {
  const indexOf = (columnId: string) => columns.findIndex(({ id }) => id === columnId);
  const boundsOf = (columnId: string, rowIndex = -1) => editor.current?.getBounds(indexOf(columnId), rowIndex);
  const handle: GridHandle = {
    boundsOf,
    showCell: (columnId, rowIndex) => {
      const index = indexOf(columnId);
      if (index >= 0) editor.current?.scrollTo(index, rowIndex, 'both', 40, 20);
    },
    focus: () => editor.current?.focus(),
    showColumn: (columnId) => {
      const index = indexOf(columnId);
      if (index >= 0) editor.current?.scrollTo(index, 0, 'horizontal', 40);
      return index >= 0 && boundsOf(columnId) !== undefined;
    },
  };
  useImperativeHandle(ref, () => handle);
  return handle;
}
