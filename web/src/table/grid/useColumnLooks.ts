import { useMemo, useRef } from 'react';
import type { Column, Json } from '../../api/types';
import type { IconName } from '../../ui/iconPaths';
import { type ColumnStyle, guessStyle } from '../display/columnStyle';
import { valueIcon } from '../display/valueIcon';
import type { GridProps } from './gridTypes';

/** How a column shows its values, and the icon of what it holds. */
export interface ColumnLook {
  style: ColumnStyle;
  icon: IconName;
}

const SAMPLE_ROWS = 60;

/** How each column shows its values, guessed from the first rows. Keeps the last guess while those are not loaded. */
export function useColumnLooks({ store, columns }: Pick<GridProps, 'store' | 'columns'>, version: number): ReadonlyMap<string, ColumnLook> {
  const last = useRef<ReadonlyMap<string, ColumnLook>>(new Map());
  return useMemo(() => {
    const rows = Array.from({ length: SAMPLE_ROWS }, (_, index) => store.rowAt(index)).filter((row) => row !== undefined);
    const samples = (columnId: string): Json[] => rows.map((row) => row.cells[columnId]?.value ?? null);
    if (rows.length > 0) {
      last.current = new Map(columns.map((column) => [column.id, lookOf(column, samples(column.id))]));
    }
    return last.current;
    // A new version means that the store has changed.
  }, [store, columns, version]);
}

function lookOf(column: Column, samples: readonly Json[]): ColumnLook {
  const style = guessStyle(column, samples);
  return { style, icon: valueIcon(style, samples) };
}
