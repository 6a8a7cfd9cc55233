import { isNumber } from '../../api/exactNumber';
import type { Json } from '../../api/types';
import { isJson } from '../model/values';

/** Fields that name a thing, best first. */
const TITLES = [
  'name', 'title', 'label', 'fullname', 'displayname', 'companyname', 'company', 'headline', 'subject', 'email', 'domain',
  'website', 'url', 'answer', 'value', 'summary', 'text', 'id',
];
const DETAILS_MAX = 4;
const LETTERS_MAX = 80;
const DETAIL_LETTERS_MAX = 32;
const DEPTH_MAX = 3;

export interface Summary {
  title: string;
  details: string;
}

/** An object in one line: what it is about, and a few more of its fields. */
export function summarize(whole: Record<string, Json>): Summary {
  const value = unwrapped(whole);
  const fields = Object.entries(value).filter(([, part]) => !isBlank(part));
  if (fields.length === 0) return { title: '', details: Object.keys(value).length === 0 ? 'No fields' : 'All fields are empty' };
  // Numbers alone are counts or measures: none of them is a name for the others.
  const isAllNumbers = fields.length > 1 && fields.every(([, part]) => isNumber(part));
  const titleKey = isAllNumbers ? undefined : titleKeyOf(value);
  const title = titleKey === undefined ? '' : leaf(value[titleKey] ?? null, LETTERS_MAX);
  const details = fields
    .filter(([key]) => key !== titleKey)
    .map(([key, part]) => detail(key, part))
    .filter(Boolean);
  return { title, details: details.slice(0, DETAILS_MAX).join(' · ') };
}

/** An object whose only field is an object is about that one. */
function unwrapped(value: Record<string, Json>): Record<string, Json> {
  let inner = value;
  for (let depth = 0; depth < DEPTH_MAX; depth += 1) {
    const [only, ...others] = Object.values(inner);
    if (others.length > 0 || !isJson(only) || Array.isArray(only)) break;
    inner = only;
  }
  return inner;
}

/** What a value is about, in a few words. */
export function titleOf(value: Json, depth = 0): string {
  if (!isJson(value)) return leaf(value, LETTERS_MAX);
  if (Array.isArray(value)) return value.length === 1 ? '1 item' : `${value.length} items`;
  const key = titleKeyOf(value, depth);
  return key === undefined ? '' : leaf(value[key] ?? null, LETTERS_MAX, depth + 1);
}

/** A web address that the page may open. */
export function isWebAddress(text: string): boolean {
  return /^(https?:\/\/|www\.)[^\s<>"]+\.[^\s<>"]+$/i.test(text) || /^https?:\/\/[^\s<>"]+$/i.test(text);
}

/** An address without protocol, `www.` and final slash. */
export function shortAddress(url: string): string {
  return url.replace(/^https?:\/\//i, '').replace(/^www\./i, '').replace(/\/$/, '');
}

/** `foundedYear` and `founded_year` become `founded year`. */
export function fieldLabel(key: string): string {
  const words = key.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/[_-]+/g, ' ').trim();
  return words === words.toUpperCase() ? words : words.toLowerCase();
}

function titleKeyOf(value: Record<string, Json>, depth = 0): string | undefined {
  const keys = Object.keys(value);
  const plain = new Map(keys.map((key) => [key.toLowerCase().replace(/[^a-z]/g, ''), key] as const));
  const isTitle = (key: string | undefined): key is string => key !== undefined && leaf(value[key] ?? null, LETTERS_MAX, depth + 1) !== '';
  const named = TITLES.map((title) => plain.get(title)).find(isTitle);
  return named ?? keys.find((key) => typeof value[key] === 'string' && value[key] !== '') ?? keys.find(isTitle);
}

function detail(key: string, part: Json): string {
  if (Array.isArray(part)) return `${part.length} ${fieldLabel(key)}`;
  const text = leaf(part, DETAIL_LETTERS_MAX, 1);
  return text && `${fieldLabel(key)} ${text}`;
}

function leaf(value: Json, lettersMax: number, depth = 0): string {
  if (value === null) return '';
  if (isJson(value)) return Array.isArray(value) || depth >= DEPTH_MAX ? '' : titleOf(value, depth);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  const text = String(value).replace(/\s+/g, ' ').trim();
  const short = isWebAddress(text) ? shortAddress(text) : text;
  return short.length > lettersMax ? `${short.slice(0, lettersMax)}…` : short;
}

function isBlank(value: Json): boolean {
  return value === null || value === '' || (isJson(value) && Object.keys(value).length === 0);
}
