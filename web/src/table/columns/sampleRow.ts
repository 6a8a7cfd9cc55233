import { useEffect, useState } from 'react';
import type { Row } from '../../api/types';
import type { Table } from '../state/useTable';

export interface SampleRow {
  /** Counted from 1, as the grid does. */
  number: number;
  setNumber: (number: number) => void;
  row: Row | undefined;
  total: number;
}

/** The row to try a column on: the selected row, or else the first. */
export function useSampleRow(table: Table): SampleRow {
  const { store, selection } = table;
  const selected = selection.cell?.rowIndex ?? selection.rows.first();
  const [number, setNumber] = useState(Math.min(selected ?? 0, Math.max(0, (store.total ?? 1) - 1)) + 1);
  const [row, setRow] = useState(store.rowAt(number - 1));

  useEffect(() => {
    let isOver = false;
    const read = async () => {
      const [found] = await store.rowsBetween(number - 1, number);
      if (!isOver) setRow(found);
    };
    void read().catch(() => setRow(undefined));
    const unsubscribe = store.subscribe(() => setRow((old) => store.rowAt(number - 1) ?? old));
    return () => {
      isOver = true;
      unsubscribe();
    };
  }, [store, number]);
  return { number, setNumber, row, total: table.total ?? 0 };
}
