import { useEffect, useMemo } from 'react';
import { isNotFound } from '../../api/error';
import { parseJson, stringifyJson } from '../../api/exactNumber';
import { notifyError } from '../../ui/notify';
import { fetchPage } from './fetchRows';
import type { RowQuery } from './rowQuery';
import { RowStore } from './rowStore';

/** The row store of a query. A new query gets a new store. */
export function useRowStore(projectId: string, query: RowQuery): RowStore {
  const key = stringifyJson(query);
  const store = useMemo(() => {
    const wanted = parseJson(key) as RowQuery;
    return new RowStore({
      query: wanted,
      fetchPage: (page, pageSize, signal) => fetchPage(projectId, wanted, page, pageSize, signal),
      // If the project itself is gone, the page already says so.
      onError: (error) => isNotFound(error) || notifyError(error, 'Some rows could not be loaded'),
    });
  }, [projectId, key]);

  useEffect(() => {
    store.open();
    return () => store.close();
  }, [store]);
  return store;
}
