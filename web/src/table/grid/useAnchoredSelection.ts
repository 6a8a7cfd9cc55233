import { useCallback, useEffect, useRef, useState } from 'react';
import { tell } from '../../ui/notify';
import type { Damage, RowStore } from '../rows/rowStore';
import { type Anchors, anchorsOf, follow, isLoose, unknownTicks } from './following';
import { NOTHING, type Selection } from './selection';

/** What is selected. It stays with its rows when others come and go above them. */
export function useFollowing(store: RowStore): [Selection, (selection: Selection) => void, () => Anchors] {
  const [selection, setSelection] = useState<Selection>(NOTHING);
  const current = useRef({ selection, anchors: anchorsOf(NOTHING, store), store });
  current.current.store = store;
  const select = useCallback((next: Selection, isMoved = false) => {
    const { store: rows, anchors } = current.current;
    // What is known by places is worth nothing where rows have moved.
    current.current = { ...current.current, selection: next, anchors: anchorsOf(next, rows, isMoved ? undefined : anchors) };
    setSelection(next);
  }, []);
  // Another list has other rows at the same places.
  useEffect(() => () => select(NOTHING, true), [store, select]);
  useEffect(() => {
    const look = (damage: Damage) => {
      if (damage !== 'all') return;
      const { selection, anchors } = current.current;
      const next = follow(selection, anchors, store);
      if (next) {
        const isLost = !anchors.isEverything && unknownTicks(selection, anchors) > 0;
        select(next, true);
        if (isLost) tell('Rows have moved. Only rows that were in sight are still ticked, so that no others are met.');
      } else if (hasFewTicks(selection) || isLoose(selection, anchors, store) || hasGrown(anchors, store)) {
        // Rows become known as they come into sight.
        current.current.anchors = anchorsOf(selection, store, anchors);
      }
    };
    return store.subscribe(look);
  }, [store, select]);
  return [selection, select, useCallback(() => current.current.anchors, [])];
}

/** Whether rows have come before the one to type into. */
function hasGrown(anchors: Anchors, store: RowStore): boolean {
  return anchors.isAtEnd && (store.total ?? 0) > anchors.total;
}

/** Few enough to be looked through whenever rows come into sight. */
const LOOKED_THROUGH_MAX = 20_000;

function hasFewTicks({ rows }: Selection): boolean {
  return rows.length > 0 && rows.length <= LOOKED_THROUGH_MAX;
}
