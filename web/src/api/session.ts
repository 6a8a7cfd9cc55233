import { request } from './client';

export type Session = SignedIn | { signedIn: false };

export interface SignedIn {
  signedIn: true;
  team: { id: string; slug: string; name: string };
  canManageTeams: boolean;
  version: string;
}

export const readSession = () => request<Session>('GET', '/session');
export const signIn = (key: string) => request<Session>('POST', '/session', { key });
export const signOut = () => request<void>('DELETE', '/session');
