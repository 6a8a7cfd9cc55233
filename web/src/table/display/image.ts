import { parseJson } from '../../api/exactNumber';
import type { Json } from '../../api/types';
import { isJson } from '../model/values';

/** Words that name an image, in a header or a field. The first that is found counts. */
const NAMES = ['thumbnail', 'logo', 'avatar', 'photo', 'picture', 'image', 'images', 'icon', 'favicon', 'screenshot'];
/** Words that may stand behind them. */
const SUFFIXES = ['url', 'link', 'src', 'address'];
const FILE = /^[^/]*\/\/[^/]+\/[^?#]*\.(png|jpe?g|gif|webp|ico)([?#]|$)/i;
const WEB = /^(https?:\/\/|www\.)[^\s<>"]+$/i;
const DATA = /^data:image\/[^,]*;base64,/i;
const ADDRESS_LETTERS_MAX = 4_096;
const DEPTH_MAX = 3;
const ENTRIES_MAX = 20;
/** Longer texts are not tested for JSON. */
const PARSED_MAX = 20_000;

interface Sign {
  /** The field or the header says that it is an image. */
  isNamed: boolean;
  /** The file's extension may say so. */
  isFile: boolean;
}

// Remembered, because the grid draws the same cells again and again.
const objects = new WeakMap<object, Map<boolean, string | undefined>>();
const headers = new Map<string, boolean>();
const texts = new Map<string, string | undefined>();
const KNOWN_MAX = 2_000;

/**
 * The address of the image that a cell shows; the service finds it by the same rule (`model/cell_image.rs`) and makes a
 * thumbnail of it.
 */
export function imageIn(header: string, value: Json | undefined): string | undefined {
  // Most texts are neither an address nor JSON.
  if (typeof value === 'string') return /^\s*(https?:|www\.|data:image|[[{])/i.test(value) ? inText(value, isImageHeader(header)) : undefined;
  if (!isJson(value)) return undefined;
  return inObject(value, isImageHeader(header));
}

function isImageHeader(header: string): boolean {
  const known = headers.get(header);
  if (known !== undefined) return known;
  if (headers.size > KNOWN_MAX) headers.clear();
  const is = header.toLowerCase().split(/[^\p{L}\p{N}]+/u).some((word) => NAMES.includes(word));
  headers.set(header, is);
  return is;
}

function inText(text: string, isNamed: boolean): string | undefined {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed)) return address(trimmed, { isNamed, isFile: true });
  if (!/[\]}]$/.test(trimmed) || trimmed.length > PARSED_MAX) return undefined;
  const key = `${isNamed} ${trimmed}`;
  if (texts.has(key)) return texts.get(key);
  if (texts.size > KNOWN_MAX) texts.clear();
  const found = parsed(trimmed, isNamed);
  texts.set(key, found);
  return found;
}

function parsed(text: string, isNamed: boolean): string | undefined {
  try {
    return inObject(parseJson(text) as Json[], isNamed);
  } catch {
    return undefined;
  }
}

function inObject(value: Json[] | Record<string, Json>, isNamed: boolean): string | undefined {
  const known = objects.get(value) ?? new Map<boolean, string | undefined>();
  if (known.has(isNamed)) return known.get(isNamed);
  // A logo that is called so comes before any link to an image file.
  const found = search(value, { isNamed, isFile: false }, 0) ?? search(value, { isNamed, isFile: true }, 0);
  objects.set(value, known.set(isNamed, found));
  return found;
}

function search(value: Json, sign: Sign, depth: number): string | undefined {
  if (typeof value === 'string') return address(value.trim(), sign);
  if (!isJson(value) || depth === DEPTH_MAX) return undefined;
  if (Array.isArray(value)) return first(value.slice(0, ENTRIES_MAX), (entry) => search(entry, sign, depth + 1));
  return inFields(value, sign, depth);
}

/** Fields with the name of an image come first. */
function inFields(value: Record<string, Json>, sign: Sign, depth: number): string | undefined {
  const fields = Object.entries(value).slice(0, ENTRIES_MAX * 2);
  const named = first(NAMES, (name) => {
    const field = fields.find(([key]) => plain(key) === name);
    return field && search(field[1], { ...sign, isNamed: true }, depth + 1);
  });
  if (named !== undefined) return named;
  // The image of `{"url": …, "alt": …}` below a field `logo`.
  const own = sign.isNamed && depth > 0 ? SUFFIXES.find((key) => key in value) : undefined;
  const owned = own === undefined ? undefined : search(value[own] ?? null, sign, depth + 1);
  return owned ?? first(fields, ([, part]) => search(part, { ...sign, isNamed: false }, depth + 1));
}

function first<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `logo_url` and `logoUrl` become `logo`. */
function plain(key: string): string {
  const letters = key.toLowerCase().replace(/[^a-z\d]/g, '');
  const suffix = SUFFIXES.find((end) => letters.endsWith(end) && letters !== end);
  return suffix ? letters.slice(0, -suffix.length) : letters;
}

/** A text that is the address of an image, by its extension or because its field says so. */
function address(text: string, { isNamed, isFile }: Sign): string | undefined {
  if (DATA.test(text)) return text;
  if (text.length > ADDRESS_LETTERS_MAX || !WEB.test(text)) return undefined;
  const whole = /^www\./i.test(text) ? `https://${text}` : text;
  return isNamed || (isFile && FILE.test(whole)) ? whole : undefined;
}
