interface Found {
  total: number;
  /** Whether all were counted. */
  isComplete: boolean;
  cell: { number: number } | null;
}

/** `3 of 41`. */
export function foundText(found: Found | undefined): string {
  if (!found) return '';
  if (!found.cell) return 'No matches';
  const total = found.total.toLocaleString('en');
  return `${found.cell.number.toLocaleString('en')} of ${total}${found.isComplete ? '' : '+'}`;
}
