import { parseJson, stringifyJson } from '../../api/exactNumber';
import type { FilterNode, Json, Sorting } from '../../api/types';
import { isJson } from '../model/values';

/** What the address says of a table beside the view: what was changed and not saved. */
export interface TableAddress {
  filters?: FilterNode[];
  sorting?: Sorting;
  search?: string;
}

/** Browsers and proxies take addresses of this length. What is longer stays in the page only. */
const LENGTH_MAX = 4_000;

function list<T>(text: string | null): T[] | undefined {
  try {
    const read = parseJson(text ?? '') as Json;
    return Array.isArray(read) && read.every(isJson) ? (read as T[]) : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the query of an address. What is not understood is left out. */
export function readAddress(query: string): TableAddress {
  const params = new URLSearchParams(query);
  const filters = list<FilterNode>(params.get('filters'));
  const sorting = list<Sorting[number]>(params.get('sorting'));
  const search = params.get('q') ?? '';
  return { ...(filters && { filters }), ...(sorting && { sorting }), ...(search && { search }) };
}

/** The query with these parts set; a part that is undefined is removed. Everything else stays. */
export function writeAddress(query: string, { filters, sorting, search }: Record<keyof TableAddress, TableAddress[keyof TableAddress]>): string {
  const params = new URLSearchParams(query);
  const set = (name: string, text: string | undefined) => (text ? params.set(name, text) : params.delete(name));
  set('filters', filters && stringifyJson(filters));
  set('sorting', sorting && stringifyJson(sorting));
  set('q', typeof search === 'string' ? search : undefined);
  const text = params.toString();
  if (text.length <= LENGTH_MAX) return text;
  for (const name of ['filters', 'sorting', 'q']) params.delete(name);
  return params.toString();
}
