import type { DataEditorRef, Item } from '@glideapps/glide-data-grid';
import { type RefObject, useEffect, useState } from 'react';
import type { RowStore } from '../rows/rowStore';

/**
 * How long single changes gather before the table that screen readers read is made anew. The grid itself waits until
 * nothing has changed for 200 ms, so this must be longer, or they would read nothing new while a run goes on.
 */
const READERS_MILLISECONDS = 800;

/** Draws again what the store says has changed: single rows in place, everything by a new version. */
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
