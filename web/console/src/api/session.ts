/**
 * Who uses the console: somebody with a token, or in dev mode somebody who says who they are. Kept in the browser; a token
 * only for this tab unless the user wants it remembered.
 */
import { useSyncExternalStore } from 'react';

export type Session = { kind: 'token'; token: string; actingFor?: string } | { kind: 'dev'; user: string };

const KEY = 'toolyard.session';
const listeners = new Set<() => void>();
/** Whether it is kept beyond this tab, and so shared with the others. */
let remembered = false;
let ended = false;
let current: Session | null = read();

function read(): Session | null {
  for (const storage of [sessionStorage, localStorage]) {
    try {
      const kept: unknown = JSON.parse(storage.getItem(KEY) ?? 'null');
      if (!isSession(kept)) continue;
      remembered = storage === localStorage;
      return kept;
    } catch {
      // What cannot be read is not there.
    }
  }
  remembered = false;
  return null;
}

// Whoever signs out in one tab is out in all of them; and in, where nobody is.
window.addEventListener('storage', (event) => {
  if (event.storageArea !== localStorage || (event.key !== KEY && event.key !== null)) return;
  if (current !== null && (!remembered || localStorage.getItem(KEY) !== null)) return;
  const before = current;
  current = read();
  if (current === before) return;
  ended = false;
  changed();
});

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
  remembered = remember;
  ended = false;
  const [keep, forget] = remember ? [localStorage, sessionStorage] : [sessionStorage, localStorage];
  forget.removeItem(KEY);
  keep.setItem(KEY, JSON.stringify(next));
  changed();
}

/** `ended`: the server does not believe the token any more. */
export function signOut(why: 'wanted' | 'ended' = 'wanted'): void {
  // A token that ended says nothing about what another tab has kept for all of them.
  if (why === 'wanted' || remembered) localStorage.removeItem(KEY);
  sessionStorage.removeItem(KEY);
  current = null;
  remembered = false;
  ended = why === 'ended';
  changed();
}

export const isRemembered = () => remembered;

/** Whether the last session ended by itself: nobody signed out. */
export const hasEnded = () => ended;

function changed() {
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
