import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { projectQuery } from '../api/queries';

const ASK_MILLISECONDS = 3_000;

/** Asks after a project as long as its events do not come: browsers do not tell a page why a stream was refused. */
export function useDisconnectReason(projectId: string, isConnected: boolean | undefined): void {
  const { refetch } = useQuery(projectQuery(projectId));
  useEffect(() => {
    if (isConnected !== false) return undefined;
    const ask = () => void refetch({ cancelRefetch: false });
    ask();
    const timer = setInterval(ask, ASK_MILLISECONDS);
    return () => clearInterval(timer);
  }, [isConnected, refetch]);
}
