import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { projectQuery } from '../api/queries';

const ASK_MILLISECONDS = 3_000;

/** Finds out why the event stream is down by reading the project again: browsers do not tell why a stream was refused. */
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
