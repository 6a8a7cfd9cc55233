import type { GridColumn } from '@glideapps/glide-data-grid';
import { useViewportSize } from '@mantine/hooks';
import { useMemo } from 'react';
import { columnIcon } from '../model/columnIcon';
import { isUnusedInput } from '../model/inputColumn';
import { fitFrozen } from './frozen';
import type { GridProps } from './gridTypes';

const WIDTH_DEFAULT = 190;
const WIDTH_UNUSED = 84;
const NARROW_SCREEN = 640;

/** Columns as the grid library takes them, and how many of them stay frozen on this screen. */
export function useGridColumns({ store, columns, widths, frozenCount }: GridProps): { gridColumns: GridColumn[]; freezeColumns: number } {
  const { width: screenWidth } = useViewportSize();
  // An unused input column would take half of a small screen.
  const isFirstNarrow = screenWidth > 0 && screenWidth < NARROW_SCREEN && isUnusedInput(columns[0]?.id, store.rowAt);
  const gridColumns = useMemo(
    () =>
      columns.map((column, index) => ({
        id: column.id,
        title: column.header,
        icon: columnIcon(column),
        hasMenu: true,
        width: widths[column.id] ?? (index === 0 && isFirstNarrow ? WIDTH_UNUSED : WIDTH_DEFAULT),
      })),
    [columns, widths, isFirstNarrow],
  );
  const drawnWidths = gridColumns.map(({ width }) => width);
  return { gridColumns, freezeColumns: fitFrozen(frozenCount, drawnWidths, screenWidth) };
}
