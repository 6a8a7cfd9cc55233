import { useMemo, useRef } from 'react';
import type { Json } from '../../api/types';
import { type ColumnStyle, guessStyle } from '../display/columnStyle';
import type { GridProps } from './gridTypes';

const SAMPLE_ROWS = 60;

/** How each column shows its values, guessed from the first rows. Keeps the last guess while those are not loaded. */
export function useColumnStyles({ store, columns }: Pick<GridProps, 'store' | 'columns'>, version: number): ReadonlyMap<string, ColumnStyle> {
  const last = useRef<ReadonlyMap<string, ColumnStyle>>(new Map());
  return useMemo(() => {
    const rows = Array.from({ length: SAMPLE_ROWS }, (_, index) => store.rowAt(index)).filter((row) => row !== undefined);
    const samples = (columnId: string): Json[] => rows.map((row) => row.cells[columnId]?.value ?? null);
    if (rows.length > 0) {
      last.current = new Map(columns.map((column) => [column.id, guessStyle(column, samples(column.id))]));
    }
    return last.current;
    // A new version means that the store has changed.
  }, [store, columns, version]);
}
