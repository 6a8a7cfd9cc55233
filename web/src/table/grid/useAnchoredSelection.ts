import { useCallback, useEffect, useRef, useState } from 'react';
import { notify } from '../../ui/notify';
import type { ChangedRows, RowStore } from '../rows/rowStore';
import { EMPTY_SELECTION, type Selection } from './selection';
import { type Anchors, anchorsOf, moveSelection, isUnanchored, countUnknownRows } from './selectionAnchors';

/** The selection. It stays on its rows when other rows are added or deleted. */
export function useAnchoredSelection(store: RowStore): [Selection, (selection: Selection) => void, () => Anchors] {
  const [selection, setSelection] = useState<Selection>(EMPTY_SELECTION);
  const current = useRef({ selection, anchors: anchorsOf(EMPTY_SELECTION, store), store });
  current.current.store = store;
  const select = useCallback((next: Selection, isMoved = false) => {
    const { store: rows, anchors } = current.current;
    // After rows have moved, the old indices are worthless.
    current.current = { ...current.current, selection: next, anchors: anchorsOf(next, rows, isMoved ? undefined : anchors) };
    setSelection(next);
  }, []);
  // Another list has other rows at the same indices.
  useEffect(() => () => select(EMPTY_SELECTION, true), [store, select]);
  useEffect(() => {
    const look = (damage: ChangedRows) => {
      if (damage !== 'all') return;
      const { selection, anchors } = current.current;
      const next = moveSelection(selection, anchors, store);
      if (next) {
        const isLost = !anchors.isEverything && countUnknownRows(selection, anchors) > 0;
        select(next, true);
        if (isLost) notify('Rows have moved. Only the rows you had seen are still selected.');
      } else if (hasFewRows(selection) || isUnanchored(selection, anchors, store) || hasGrown(anchors, store)) {
        // Learns the ids of rows that were loaded since.
        current.current.anchors = anchorsOf(selection, store, anchors);
      }
    };
    return store.subscribe(look);
  }, [store, select]);
  return [selection, select, useCallback(() => current.current.anchors, [])];
}

/** Whether rows were added before the empty row at the end. */
function hasGrown(anchors: Anchors, store: RowStore): boolean {
  return anchors.isAtEnd && (store.total ?? 0) > anchors.total;
}

/** Maximum number of selected rows to scan on every load. */
const LOOKED_THROUGH_MAX = 20_000;

function hasFewRows({ rows }: Selection): boolean {
  return rows.length > 0 && rows.length <= LOOKED_THROUGH_MAX;
}
