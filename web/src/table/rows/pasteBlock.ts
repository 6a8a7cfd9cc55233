/** A rectangle of texts, as a spreadsheet puts it on the clipboard. */
export type Block = readonly (readonly string[])[];

/** A column of the table that pasted values may go to. */
export interface PasteColumn {
  id: string;
  header: string;
  isWritable: boolean;
  /** Filled by the service: what comes under another name does not belong there. */
  isComputed: boolean;
}

/** Where one column of a block goes: to a column that is there, perhaps renamed, or to a new one of this name. */
export type Destination = { columnId: string; header: string; isRenamed: boolean } | { columnId: undefined; header: string };

export const PASTE_ROWS_MAX = 50_000;
export const PASTE_CELLS_MAX = 500_000;
/** More new columns than this are no slip of the hand, but they are better brought as a file. */
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

/** Whether a paste is to be asked about: it has no room, or begins a table with what may be its headers. */
export function needsAnswer(block: Block, columns: readonly PasteColumn[], firstColumn: number, isEmptyTable: boolean): boolean {
  if (firstColumn + widthOf(block) > columns.length) return true;
  return isEmptyTable && guessHeader(block, columns, isEmptyTable);
}

/** Whether the first line of a block seems to name its columns. */
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

/** Where each column of a block goes. With headers, a column of the same name comes before the one at its place. */
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
      // Nobody has named the column that every table begins with.
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

/** A number, an amount, a date, an address: things that stand in tables and name no column. */
function isData(text: string): boolean {
  return /^[-+$€£]?[\d.,\s/:%-]*\d[\d.,\s/:%-]*$/.test(text) || /^https?:\/\//.test(text) || /^\S+@\S+\.\S+$/.test(text) || /^[\w-]+(\.[\w-]+)+(\/\S*)?$/.test(text);
}
