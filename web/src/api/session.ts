import { request } from './client';
import type { Scope } from './types';

export type Session = SignedIn | { signedIn: false };

export interface SignedIn {
  signedIn: true;
  team: { id: string; slug: string; name: string };
  canManageTeams: boolean;
  /** What the key that signed in may do. */
  scopes: Scope[];
  version: string;
}

export const readSession = () => request<Session>('GET', '/session');
export const signIn = (key: string) => request<Session>('POST', '/session', { key });

/** Tells the other windows of this browser when one signs out. */
const windows = new BroadcastChannel('rowmill-session');

export async function signOut(): Promise<void> {
  await request<void>('DELETE', '/session');
  windows.postMessage('signed-out');
}

export function onSignedOutElsewhere(act: () => void): void {
  windows.onmessage = act;
}
