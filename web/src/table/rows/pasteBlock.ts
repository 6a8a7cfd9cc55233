/** A rectangle of text cells, as a spreadsheet copies it. */
export type Block = readonly (readonly string[])[];

/** A column of the table as a paste target. */
export interface PasteColumn {
  id: string;
  header: string;
  isWritable: boolean;
  /** Filled by the service: values under another header must not be pasted into it. */
  isComputed: boolean;
}

/** The target of one pasted column: an existing column, possibly renamed, or a new one. */
export type Destination = { columnId: string; header: string; isRenamed: boolean } | { columnId: undefined; header: string };

export const PASTE_ROWS_MAX = 50_000;
export const PASTE_CELLS_MAX = 500_000;
/** A paste that needs more new columns than this must be imported as a file. */
export const NEW_COLUMNS_MAX = 100;
const HEADER_LENGTH_MAX = 255;

export function widthOf(block: Block): number {
  return block.reduce((most, line) => Math.max(most, line.length), 0);
}

/** More than one cell. */
export function isBlock(block: Block): boolean {
  return block.length > 1 || widthOf(block) > 1;
}

export function isTooLarge(block: Block): boolean {
  return block.length > PASTE_ROWS_MAX || block.length * widthOf(block) > PASTE_CELLS_MAX;
}

/** Whether to ask before a paste: it does not fit, or it starts an empty table with a possible header line. */
export function needsAnswer(block: Block, columns: readonly PasteColumn[], firstColumn: number, isEmptyTable: boolean): boolean {
  if (firstColumn + widthOf(block) > columns.length) return true;
  return isEmptyTable && guessHeader(block, columns, isEmptyTable);
}

/** Guesses whether the first line of a block is a header. */
export function guessHeader(block: Block, columns: readonly PasteColumn[], isEmptyTable: boolean): boolean {
  const [first, ...others] = block;
  if (!first || others.length === 0) return false;
  const names = first.map(plain);
  if (names.some((name) => name === '' || name.length > 60 || isData(name))) return false;
  if (new Set(names).size < names.length) return false;
  const known = new Set(columns.map(({ header }) => plain(header)));
  if (names.some((name) => known.has(name))) return true;
  const differs = first.some((_, place) => others.slice(0, 20).some((line) => isData(plain(line[place] ?? ''))));
  return differs || (isEmptyTable && names.length > 1);
}

/** The target of each pasted column. A column with the same header wins over the one at the same position. */
export function destinations(
  block: Block,
  columns: readonly PasteColumn[],
  { hasHeader, firstColumn, isEmptyTable }: { hasHeader: boolean; firstColumn: number; isEmptyTable: boolean },
): Destination[] {
  const names = Array.from({ length: widthOf(block) }, (_, place) => (hasHeader ? (block[0]?.[place] ?? '').trim() : ''));
  const writable = columns.filter((column) => column.isWritable);
  const byName = names.map((name) => (name ? writable.find(({ header }) => plain(header) === plain(name)) : undefined));
  const taken = new Set(byName.map((column) => column?.id));
  let made = 0;
  return names.map((name, place): Destination => {
    const named = byName[place];
    if (named && byName.indexOf(named) === place) return { columnId: named.id, header: named.header, isRenamed: false };
    const header = name.slice(0, HEADER_LENGTH_MAX);
    const below = columns[firstColumn + place];
    if (below?.isWritable && !taken.has(below.id) && !(name && below.isComputed)) {
      // The first column still has its default name.
      const isRenamed = isEmptyTable && header !== '' && below.id === '_trigger' && below.header === 'Input';
      return { columnId: below.id, header: isRenamed ? header : below.header, isRenamed };
    }
    made += 1;
    return { columnId: undefined, header: header || `Column ${columns.length + made}` };
  });
}

function plain(text: string): string {
  return text.trim().toLowerCase();
}

/** Whether a text is data rather than a header: a number, an amount, a date, a URL or an e-mail address. */
function isData(text: string): boolean {
  return /^[-+$€£]?[\d.,\s/:%-]*\d[\d.,\s/:%-]*$/.test(text) || /^https?:\/\//.test(text) || /^\S+@\S+\.\S+$/.test(text) || /^[\w-]+(\.[\w-]+)+(\/\S*)?$/.test(text);
}
