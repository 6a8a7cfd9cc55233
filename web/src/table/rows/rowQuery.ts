import { stringifyJson } from '../../api/exactNumber';
import type { FilterNode, Row, Sorting, TriggerBody } from '../../api/types';

/** Which rows a list has, and in which order. */
export interface RowQuery {
  filters: FilterNode[];
  sorting: Sorting;
  search: string;
}

export const EVERY_ROW: RowQuery = { filters: [], sorting: [], search: '' };

/** Whether a list has all rows in order of creation. Row positions are then known without a request. */
export function isPlain(query: RowQuery): boolean {
  return query.filters.length === 0 && query.sorting.length === 0 && query.search === '';
}

export function isFiltered(query: RowQuery): boolean {
  return query.filters.length > 0 || query.search !== '';
}

/** A query as URL parameters of the API. */
export function queryParams(query: RowQuery) {
  return {
    ...(query.filters.length > 0 && { filters: stringifyJson(query.filters) }),
    ...(query.sorting.length > 0 && { sorting: stringifyJson(query.sorting) }),
    ...(query.search && { search: query.search }),
  };
}

/** A query as the body of a run. */
export function runBody(query: RowQuery): TriggerBody {
  return {
    ...(query.filters.length > 0 && { filters: query.filters as TriggerBody['filters'] }),
    ...(query.sorting.length > 0 && { sorting: query.sorting }),
    ...(query.search && { search: query.search }),
  };
}

export interface RowPage {
  rows: Row[];
  total: number | undefined;
}
