import { useMemo, useRef } from 'react';

interface RowMarkers {
  kind: 'both';
  checkboxStyle: 'square';
  width: number;
}

/** The row numbers. Their width stays the same while rows are loaded, so that the columns do not jump. */
export function useRowMarkers(total: number | undefined): RowMarkers {
  const last = useRef(0);
  if (total !== undefined) last.current = total;
  const width = markerWidth(last.current);
  return useMemo(() => ({ kind: 'both', checkboxStyle: 'square', width }), [width]);
}

/** As the grid itself would choose it. */
function markerWidth(total: number): number {
  if (total > 10_000) return 48;
  if (total > 1_000) return 44;
  return total > 100 ? 36 : 32;
}
