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

interface GridColumns {
  gridColumns: GridColumn[];
  freezeColumns: number;
  /** Whether the button after the last column fits beside it. */
  hasRoom: boolean;
}

/** Width of the row numbers and of the button after the last column. */
const AROUND_WIDTH = 170;

/** Columns as the grid library takes them, and how many of them stay frozen on this screen. */
export function useGridColumns({ store, columns, widths, frozenCount }: GridProps, gridWidth: number): GridColumns {
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
  const hasRoom = drawnWidths.reduce((sum, width) => sum + width, AROUND_WIDTH) < gridWidth;
  return { gridColumns, freezeColumns: fitFrozen(frozenCount, drawnWidths, screenWidth), hasRoom };
}
