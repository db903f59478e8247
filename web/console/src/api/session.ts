/**
 * Who uses the console: somebody with a token, or in dev mode somebody who says who they are. Kept in the browser; a token
 * only for this tab unless the user wants it remembered.
 */
import { useSyncExternalStore } from 'react';

export type Session = { kind: 'token'; token: string; actingFor?: string } | { kind: 'dev'; user: string };

const KEY = 'toolyard.session';
const listeners = new Set<() => void>();
let current: Session | null = read();

function read(): Session | null {
  for (const storage of [sessionStorage, localStorage]) {
    try {
      const kept: unknown = JSON.parse(storage.getItem(KEY) ?? 'null');
      if (isSession(kept)) return kept;
    } catch {
      // What cannot be read is not there.
    }
  }
  return null;
}

function isSession(value: unknown): value is Session {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, token, user } = value as Record<string, unknown>;
  return (kind === 'token' && typeof token === 'string') || (kind === 'dev' && typeof user === 'string');
}

export function session(): Session | null {
  return current;
}

/** `remember` keeps it beyond this tab. */
export function signIn(next: Session, remember: boolean): void {
  current = next;
  const [keep, forget] = remember ? [localStorage, sessionStorage] : [sessionStorage, localStorage];
  forget.removeItem(KEY);
  keep.setItem(KEY, JSON.stringify(next));
  for (const listener of listeners) listener();
}

export function signOut(): void {
  current = null;
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(KEY);
  for (const listener of listeners) listener();
}

/** Calls back when somebody signs in or out; gives what stops that. */
export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useSession(): Session | null {
  return useSyncExternalStore(onSessionChange, session);
}

/** The headers that say who asks. */
export function credentials(who: Session | null = current): Record<string, string> {
  if (who === null) return {};
  if (who.kind === 'dev') return { 'X-User-Id': encodeUser(who.user) };
  const headers: Record<string, string> = { Authorization: `Bearer ${who.token}` };
  if (who.actingFor !== undefined) headers['X-User-Id'] = encodeUser(who.actingFor);
  return headers;
}

/** Headers of `fetch` are bytes; the server reads names as UTF-8. */
function encodeUser(user: string): string {
  return String.fromCharCode(...new TextEncoder().encode(user));
}
