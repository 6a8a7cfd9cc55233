import { SHORT_ROW } from './canvasText';

/** The heights a row can have, in pixels. */
export const ROW_HEIGHTS = { short: SHORT_ROW, medium: 58, tall: 96, extraTall: 152 } as const;

export type RowHeight = keyof typeof ROW_HEIGHTS;

export const ROW_HEIGHT_LABELS: Record<RowHeight, string> = { short: 'Short', medium: 'Medium', tall: 'Tall', extraTall: 'Extra tall' };

/** The stored height; short if it is unknown. */
export function rowHeightOf(stored: string): RowHeight {
  return stored in ROW_HEIGHTS ? (stored as RowHeight) : 'short';
}
