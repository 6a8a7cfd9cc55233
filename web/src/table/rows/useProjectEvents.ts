import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { projectQuery, statusQuery, viewsQuery } from '../../api/queries';
import type { Status } from '../../api/types';
import { subscribeToProject } from './projectEvents';
import type { RowStore } from './rowStore';

/** Keeps rows, counts and columns current by server-sent events. Returns whether the stream is connected; undefined until it first is. */
export function useProjectEvents(projectId: string, store: RowStore, onStatus: (status: Status) => void): boolean | undefined {
  const queryClient = useQueryClient();
  const [isConnected, setIsConnected] = useState<boolean>();
  const current = useRef({ store, onStatus });
  current.current = { store, onStatus };

  useEffect(() => {
    const rereadProject = () => {
      void queryClient.invalidateQueries({ queryKey: projectQuery(projectId).queryKey });
      void queryClient.invalidateQueries({ queryKey: viewsQuery(projectId).queryKey });
    };
    return subscribeToProject(projectId, {
      onRows: (changes) => current.current.store.apply(changes),
      onStatus: (status) => {
        const { queryKey } = statusQuery(projectId);
        // An older request that is still under way must not replace what the event says.
        void queryClient.cancelQueries({ queryKey });
        queryClient.setQueryData(queryKey, status);
        current.current.store.resize(status.rows.total);
        current.current.onStatus(status);
      },
      onProject: () => {
        rereadProject();
        current.current.store.refresh();
      },
      onReset: () => current.current.store.refresh(),
      onConnection: setIsConnected,
    });
  }, [projectId, queryClient]);
  return isConnected;
}
