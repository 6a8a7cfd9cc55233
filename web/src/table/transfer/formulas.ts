/** The start of a spreadsheet formula. The service has the same rule in `files/formulas.rs`. */
const STARTS = /^[=+\-@\t\r\n＝＋－＠]/;
const HARMLESS = /^[+-](|[\d.][\d .,()\u00A0\u202F]*%?|\d*\.?\d*[eE][+-]?\d+)$/;

/** Whether a cell starts with the apostrophe that our export puts before formulas. */
export function isEscapedFormula(cell: string): boolean {
  const inner = cell.replace(/^'+/, '');
  return cell.startsWith("'") && STARTS.test(inner) && !HARMLESS.test(inner);
}

/** A cell without that apostrophe. */
export function unescapeFormula(cell: string): string {
  return isEscapedFormula(cell) ? cell.slice(1) : cell;
}
