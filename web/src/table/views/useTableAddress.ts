import { useEffect } from 'react';
import { navigate } from 'wouter/use-browser-location';
import { stringifyJson } from '../../api/exactNumber';
import { completeFilters } from './operators';
import { type TableAddress, writeAddress } from './tableAddress';
import type { Views } from './useViews';

/** Keeps unsaved filters, sorting and the search in the page's URL, so that reload and sharing work. */
export function useTableAddress(views: Views, search: string): void {
  const unsaved = views.isChanged ? { filters: completeFilters(views.state.filters), sorting: views.state.sorting } : {};
  const address: TableAddress = { ...unsaved, ...(search && { search }) };
  const key = stringifyJson(address);
  useEffect(() => {
    const { pathname, search: query } = window.location;
    const next = writeAddress(query, { filters: undefined, sorting: undefined, search: undefined, ...address });
    if (next !== new URLSearchParams(query).toString()) navigate(pathname + (next && `?${next}`), { replace: true });
  }, [key, views.view?.id]);
}
