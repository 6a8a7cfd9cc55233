export interface CsvSample {
  delimiter: string;
  rows: string[][];
}

const DELIMITERS = [',', ';', '\t', '|'];

/** The first rows of a file, from the start of its text. Drops the last row if the text is cut, because it may be incomplete. */
export function sampleCsv(text: string, rowsMax: number, isWhole: boolean): CsvSample {
  const clean = text.replace(/^\uFEFF/, '');
  const delimiter = guessDelimiter(clean);
  const rows = parseCsv(clean, delimiter, rowsMax + 1);
  if (!isWhole && rows.length <= rowsMax) rows.pop();
  return { delimiter, rows: rows.slice(0, rowsMax).filter((row) => row.length > 1 || row[0] !== '') };
}

/** Guesses the delimiter: the one that splits the first lines into the most cells, equally many in each. */
export function guessDelimiter(text: string): string {
  let best = ',';
  let bestScore = 0;
  for (const delimiter of DELIMITERS) {
    const widths = parseCsv(text, delimiter, 6).map((row) => row.length);
    const width = widths[0] ?? 1;
    const alike = widths.filter((other) => other === width).length / widths.length;
    const score = (width - 1) * alike;
    if (score > bestScore) [best, bestScore] = [delimiter, score];
  }
  return best;
}

export function parseCsv(text: string, delimiter: string, rowsMax = Infinity): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (let at = 0; at < text.length && rows.length < rowsMax; at++) {
    const letter = text[at];
    if (isQuoted) {
      if (letter !== '"') cell += letter;
      else if (text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (letter === '"' && cell === '') isQuoted = true;
    else if (letter === delimiter) {
      row.push(cell);
      cell = '';
    } else if (letter === '\n' || letter === '\r') {
      if (letter === '\r' && text[at + 1] === '\n') at += 1;
      rows.push([...row, cell]);
      row = [];
      cell = '';
    } else cell += letter;
  }
  if (rows.length < rowsMax && (cell !== '' || row.length > 0)) rows.push([...row, cell]);
  return rows;
}

export function formatCsv(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')).join('\r\n');
}

/** Whether a row has values after the last column. Empty cells do not count. */
export function isTooWide(row: readonly string[], width: number): boolean {
  return row.slice(width).some((cell) => cell !== '');
}

/** The service's field names for a header line: each has a name, and no two are the same. */
export function fieldNames(headers: readonly string[]): string[] {
  const seen = new Set<string>();
  return headers.map((header, place) => {
    const name = header.trim() || `Column ${place + 1}`;
    if (seen.has(name)) return `${name} (${place})`;
    seen.add(name);
    return name;
  });
}
