/** Parses TSV, the clipboard format of spreadsheets. Cells that contain tabs or line breaks are quoted. */
export function parseTsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at <= text.length) {
    const { cell, end } = text[at] === '"' ? quoted(text, at) : plain(text, at);
    row.push(cell);
    const separator = text[end];
    if (separator === '\t') {
      at = end + 1;
      continue;
    }
    rows.push(row);
    row = [];
    if (separator === undefined) break;
    at = end + (separator === '\r' && text[end + 1] === '\n' ? 2 : 1);
    // Spreadsheets put a line break after the last row too.
    if (at === text.length) break;
  }
  return rows;
}

export function formatTsv(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.map(protect).join('\t')).join('\n');
}

function plain(text: string, start: number): { cell: string; end: number } {
  let end = start;
  while (end < text.length && text[end] !== '\t' && text[end] !== '\n' && text[end] !== '\r') end += 1;
  return { cell: text.slice(start, end), end };
}

/** A quote that is not closed, or is followed by more text, is an ordinary character. */
function quoted(text: string, start: number): { cell: string; end: number } {
  let cell = '';
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] !== '"') {
      cell += text[at];
    } else if (text[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else {
      const after = text[at + 1];
      const isWhole = after === undefined || after === '\t' || after === '\n' || after === '\r';
      return isWhole ? { cell, end: at + 1 } : plain(text, start);
    }
  }
  return plain(text, start);
}

function protect(cell: string): string {
  return /[\t\n\r"]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
