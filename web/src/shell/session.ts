import { createContext, useContext } from 'react';
import type { SignedIn } from '../api/session';

export const SessionContext = createContext<SignedIn | null>(null);

export function useSession(): SignedIn {
  const session = useContext(SessionContext);
  if (!session) throw new Error('useSession needs a signed-in user.');
  return session;
}
