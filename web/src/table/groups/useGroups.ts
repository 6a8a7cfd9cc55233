import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { client, data } from '../../api/client';
import type { Json } from '../../api/types';
import { queryParams } from '../rows/rowQuery';
import type { Table } from '../state/useTable';
import { withoutGroup } from './groupFilters';

/** Many changes cause one request. */
const REFRESH_MILLISECONDS = 1_000;

export interface GroupCounts {
  rowCount: number;
  total: number | null;
}

export interface Groups {
  rowCount: number;
  groupCount: number;
  groups: ({ text: string; value?: Json } & GroupCounts)[];
  empty: GroupCounts;
}

/** The groups of the rows that are shown. They follow every change. */
export function useGroups({ project, store, query }: Table, columnId: string | undefined, totalColumnId: string | undefined) {
  const queryClient = useQueryClient();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = store.subscribeToData(() => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void queryClient.invalidateQueries({ queryKey: ['groups', project.id] });
      }, REFRESH_MILLISECONDS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [store, project.id, queryClient]);

  const { filters, search } = queryParams({ ...query, sorting: [], filters: columnId ? withoutGroup(query.filters, columnId) : query.filters });
  return useQuery({
    queryKey: ['groups', project.id, columnId, totalColumnId, filters, search],
    queryFn: async ({ signal }) => {
      const params = {
        columnId: columnId ?? '',
        ...(totalColumnId && { totalColumnId }),
        ...(filters && { filters }),
        ...(search && { search }),
      };
      return (await data(client.GET('/v4/projects/{projectId}/groups', { params: { path: { projectId: project.id }, query: params }, signal }))) as Groups;
    },
    enabled: columnId !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 0,
  });
}
