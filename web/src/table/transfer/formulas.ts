/** What a spreadsheet takes for the beginning of a formula; the service decides alike, in `files/formulas.rs`. */
const STARTS = /^[=+\-@\t\r\n＝＋－＠]/;
const HARMLESS = /^[+-](|[\d.][\d .,()\u00A0\u202F]*%?|\d*\.?\d*[eE][+-]?\d+)$/;

/** Whether a cell stands behind the apostrophe that our export puts before formulas. */
export function isEscapedFormula(cell: string): boolean {
  const inner = cell.replace(/^'+/, '');
  return cell.startsWith("'") && STARTS.test(inner) && !HARMLESS.test(inner);
}

/** A cell as it was before it was marked. */
export function unescapeFormula(cell: string): string {
  return isEscapedFormula(cell) ? cell.slice(1) : cell;
}
