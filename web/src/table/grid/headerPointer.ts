import type { DataEditorCoreProps } from '@glideapps/glide-data-grid';
import type { RefObject } from 'react';
import type { GridProps } from './gridTypes';
import { type HeaderPart, headerParts, partAt } from './headerParts';

/** Clicks on the buttons in headers. `overPart` is true while the pointer is over one of them. */
export function headerPointer(
  { columns, headers, onHeaderPart }: GridProps,
  overPart: RefObject<boolean>,
): Pick<DataEditorCoreProps, 'onHeaderClicked' | 'onMouseMove'> {
  const partOf = (columnIndex: number, x: number, width: number): HeaderPart | undefined => {
    const column = columns[columnIndex];
    const part = column && partAt(headerParts(column.header, headers.get(column.id) ?? {}, width), x);
    return part?.kind === 'progress' ? undefined : part;
  };
  return {
    onMouseMove: (event) => {
      const [columnIndex] = event.location;
      overPart.current = event.kind === 'header' && partOf(columnIndex, event.localEventX, event.bounds.width) !== undefined;
    },
    onHeaderClicked: (columnIndex, event) => {
      const part = partOf(columnIndex, event.localEventX, event.bounds.width);
      const column = columns[columnIndex];
      // A finger cannot see the run button, which takes the place of the icon on hover.
      if (!part || !column || event.button !== 0 || (event.isTouch && part.kind === 'run')) return;
      event.preventDefault();
      onHeaderPart(column.id, part.kind);
    },
  };
}
