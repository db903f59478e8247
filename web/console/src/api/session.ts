/**
 * Who uses the console: a user with a token, or in dev mode any user name. Stored in the browser; a token only for this tab, unless the
 * user wants to stay signed in. A token can lapse, because it expired or was revoked. That is not a sign-out: the page stays as it is
 * until the same user enters a new token, or signs out.
 */
import { useSyncExternalStore } from 'react';

export type Session = { kind: 'token'; token: string; actingFor?: string } | { kind: 'dev'; user: string };
/** `renewed`: the same user has a new token; `over`: the user signed out, or another user signed in. */
export type Lapse = 'lapsed' | 'renewed' | 'over';

const KEY = 'toolyard.session';
const listeners = new Set<() => void>();
const lapseListeners = new Set<(now: Lapse) => void>();
const signOutListeners = new Set<(who: Session) => void>();
/** Whether it is stored beyond this tab and shared with other tabs. */
let remembered = false;
let ended = false;
let lapsed = false;
/** Increases at each sign-in and sign-out. Responses to requests of an earlier session are not for the current user. */
let times = 0;
let current: Session | null = read();

function read(): Session | null {
  for (const storage of [sessionStorage, localStorage]) {
    const kept = readFrom(storage);
    if (kept === null) continue;
    remembered = storage === localStorage;
    return kept;
  }
  remembered = false;
  return null;
}

function readFrom(storage: Storage): Session | null {
  try {
    const kept: unknown = JSON.parse(storage.getItem(KEY) ?? 'null');
    return isSession(kept) ? kept : null;
  } catch {
    // Unreadable storage counts as empty.
    return null;
  }
}

// A sign-out in one tab applies to all tabs. A sign-in applies to tabs without a session.
window.addEventListener('storage', (event) => {
  if (!isSessionEvent(event)) return;
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

/** Whether another tab changed the shared session. */
export const isSessionEvent = (event: StorageEvent) => event.storageArea === localStorage && (event.key === KEY || event.key === null);

/** The session that all tabs share. */
export const sharedSession = () => readFrom(localStorage);

export function session(): Session | null {
  return current;
}

/** `remember` stores it beyond this tab. */
export function signIn(next: Session, remember: boolean): void {
  if (!remember) localStorage.removeItem(KEY);
  keep(next, remember);
  ended = false;
  changed();
}

/** The token is no longer valid. Nothing more is sent with it. */
export function lapse(token: string): void {
  if (lapsed || current?.kind !== 'token' || current.token !== token) return;
  lapsed = true;
  tellLapse('lapsed');
}

/** The same user continues with another token. */
export function renew(next: Session, remember: boolean): void {
  if (!lapsed) return;
  // Without `remember`, the old token stays in shared storage: other tabs would take its removal for a sign-out.
  keep(next, remember);
  lapsed = false;
  tellLapse('renewed');
}

function keep(next: Session, remember: boolean) {
  current = next;
  remembered = remember;
  if (remember) sessionStorage.removeItem(KEY);
  (remember ? localStorage : sessionStorage).setItem(KEY, JSON.stringify(next));
}

/** `ended`: the token is no longer valid, and no page is open that could be lost. */
export function signOut(why: 'wanted' | 'ended' = 'wanted'): void {
  if (why === 'wanted' && current !== null) for (const listener of signOutListeners) listener(current);
  // An expired token is not a sign-out for other tabs, where the user may have unsaved input.
  if (why === 'wanted') localStorage.removeItem(KEY);
  sessionStorage.removeItem(KEY);
  current = null;
  remembered = false;
  ended = why === 'ended';
  changed();
}

export const isRemembered = () => remembered;

/** Whether the last session ended without a sign-out. */
export const hasEnded = () => ended;

export const hasLapsed = () => lapsed;

/** The number of this session in this tab. */
export const sessionNumber = () => times;

function changed() {
  times += 1;
  const wasLapsed = lapsed;
  lapsed = false;
  for (const listener of listeners) listener();
  if (wasLapsed) tellLapse('over');
}

function tellLapse(now: Lapse) {
  for (const listener of [...lapseListeners]) listener(now);
}

/** Subscribes to sign-in and sign-out. Returns a function that unsubscribes. */
export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Called when the user signs out in this tab, before the session ends. Returns a function that unsubscribes. */
export function onSignOut(listener: (who: Session) => void): () => void {
  signOutListeners.add(listener);
  return () => signOutListeners.delete(listener);
}

/** Subscribes to the start and end of a lapse. Returns a function that unsubscribes. */
export function onLapse(listener: (now: Lapse) => void): () => void {
  lapseListeners.add(listener);
  return () => lapseListeners.delete(listener);
}

export function useSession(): Session | null {
  return useSyncExternalStore(onSessionChange, session);
}

export function useLapsed(): boolean {
  return useSyncExternalStore(onLapse, hasLapsed);
}

/** The headers with the credential. None after the token lapsed. */
export function credentials(who: Session | null = lapsed ? null : current): Record<string, string> {
  if (who === null) return {};
  if (who.kind === 'dev') return { 'X-User-Id': encodeUser(who.user) };
  const headers: Record<string, string> = { Authorization: `Bearer ${who.token}` };
  if (who.actingFor !== undefined) headers['X-User-Id'] = encodeUser(who.actingFor);
  return headers;
}

/** Header values of `fetch` are bytes; the server decodes names as UTF-8. */
function encodeUser(user: string): string {
  return String.fromCharCode(...new TextEncoder().encode(user));
}
