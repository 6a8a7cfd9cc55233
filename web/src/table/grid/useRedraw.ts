import type { DataEditorRef, Item } from '@glideapps/glide-data-grid';
import { type RefObject, useEffect, useState } from 'react';
import type { RowStore } from '../rows/rowStore';

/**
 * How long to collect single changes before the table for screen readers is rebuilt. The grid rebuilds it only after 200
 * ms without changes, so a shorter time would keep it from ever being rebuilt during a run.
 */
const READERS_MILLISECONDS = 800;

/** Redraws what the store reports as changed: single rows in place, everything by a new version. */
export function useRedraw(store: RowStore, columnCount: number, editor: RefObject<DataEditorRef | null>): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const redrawAll = () => {
      clearTimeout(timer);
      timer = undefined;
      setVersion((old) => old + 1);
    };
    const unsubscribe = store.subscribe((damage) => {
      if (damage === 'all') return redrawAll();
      const cells = damage.flatMap((row) =>
        Array.from({ length: columnCount }, (_, column) => ({ cell: [column, row] as Item })),
      );
      editor.current?.updateCells(cells);
      timer ??= setTimeout(redrawAll, READERS_MILLISECONDS);
    });
    return () => {
      clearTimeout(timer);
      unsubscribe();
    };
  }, [store, columnCount, editor]);
  return version;
}
