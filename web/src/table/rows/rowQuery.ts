import type { FilterNode, Row, Sorting, TriggerBody } from '../../api/types';

/** Which rows, and in which order. */
export interface RowQuery {
  filters: FilterNode[];
  sorting: Sorting;
  search: string;
}

export const EVERY_ROW: RowQuery = { filters: [], sorting: [], search: '' };

/** All rows in order of creation: places are known without asking. */
export function isPlain(query: RowQuery): boolean {
  return query.filters.length === 0 && query.sorting.length === 0 && query.search === '';
}

export function isFiltered(query: RowQuery): boolean {
  return query.filters.length > 0 || query.search !== '';
}

/** A query as the service's parameters. */
export function queryParams(query: RowQuery) {
  return {
    ...(query.filters.length > 0 && { filters: JSON.stringify(query.filters) }),
    ...(query.sorting.length > 0 && { sorting: JSON.stringify(query.sorting) }),
    ...(query.search && { search: query.search }),
  };
}

/** A query as a run takes it. */
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
