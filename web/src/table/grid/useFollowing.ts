import { useCallback, useEffect, useRef, useState } from 'react';
import type { Damage, RowStore } from '../rows/rowStore';
import { anchorsOf, follow, isLoose } from './following';
import { NOTHING, type Selection } from './selection';

/** What is selected. It stays with its rows when others come and go above them. */
export function useFollowing(store: RowStore): [Selection, (selection: Selection) => void] {
  const [selection, setSelection] = useState<Selection>(NOTHING);
  const current = useRef({ selection, anchors: anchorsOf(NOTHING, store), store });
  current.current.store = store;
  const select = useCallback((next: Selection) => {
    current.current = { ...current.current, selection: next, anchors: anchorsOf(next, current.current.store) };
    setSelection(next);
  }, []);
  // Another list has other rows at the same places.
  useEffect(() => () => select(NOTHING), [store, select]);
  useEffect(() => {
    const look = (damage: Damage) => {
      if (damage !== 'all') return;
      const { selection, anchors } = current.current;
      const next = follow(selection, anchors, store);
      if (next) select(next);
      else if (isLoose(selection, anchors, store)) current.current.anchors = anchorsOf(selection, store);
    };
    return store.subscribe(look);
  }, [store, select]);
  return [selection, select];
}
