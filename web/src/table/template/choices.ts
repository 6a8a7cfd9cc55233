import type { Column } from '../../api/types';

export interface Choice {
  reference: string;
  label: string;
  column?: Column;
}

const CHOICES_MAX = 8;

/** Columns and secrets that match the text after `@`. */
export function choicesFor(word: string, columns: readonly Column[], secrets: readonly string[]): Choice[] {
  const wanted = word.toLowerCase();
  const all: Choice[] = [
    ...columns.map((column) => ({ reference: column.id, label: column.header, column })),
    ...secrets.map((name) => ({ reference: `secret.${name}`, label: `secret ${name}` })),
  ];
  const starts = all.filter(({ label }) => label.toLowerCase().startsWith(wanted));
  const holds = all.filter(({ label }) => !label.toLowerCase().startsWith(wanted) && label.toLowerCase().includes(wanted));
  return [...starts, ...holds].slice(0, CHOICES_MAX);
}
