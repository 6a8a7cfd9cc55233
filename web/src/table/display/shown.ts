export interface Chip {
  label: string;
  /** A place in the palette; undefined for a neutral chip. */
  color?: number;
}

/** What a cell shows of a value. `text` is the same in words, for screen readers. `misfit` says that it does not fit the column's type. */
export type Display =
  | { kind: 'text' | 'number' | 'date' | 'email'; text: string; misfit?: string }
  | { kind: 'rating'; text: string; rating: number; max: number }
  | { kind: 'checkbox'; text: string; isChecked: boolean }
  | { kind: 'link'; text: string; url: string }
  | { kind: 'chips'; text: string; chips: Chip[] }
  | { kind: 'fields'; text: string; title: string; details: string };
