import { type RefObject, useEffect } from 'react';
import type { GridHandle } from './grid/gridTypes';

const RETRY_MILLISECONDS = 150;

/** Scrolls the grid to the column that the side panel shows, also when the column was just created. */
export function useScrollToColumn(grid: RefObject<GridHandle | null>, columnId: string | undefined, columnCount: number): void {
  useEffect(() => {
    if (!columnId) return;
    // Twice, because the grid may draw the column before the panel beside it has taken its width.
    let shownCount = 0;
    const timer = setInterval(() => {
      if (grid.current?.showColumn(columnId)) shownCount += 1;
      if (shownCount === 2) clearInterval(timer);
    }, RETRY_MILLISECONDS);
    return () => clearInterval(timer);
  }, [columnId, columnCount]);
}
