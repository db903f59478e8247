/**
 * Who uses the console: somebody with a token, or in dev mode somebody who says who they are. Kept in the browser; a token
 * only for this tab unless the user wants it remembered.
 *
 * A token can lapse: it ended or was revoked. Then nobody signed out yet, and the page stays as it is until the same user
 * brings a new token, or somebody leaves.
 */
import { useSyncExternalStore } from 'react';

export type Session = { kind: 'token'; token: string; actingFor?: string } | { kind: 'dev'; user: string };
/** `renewed`: the same user has a new token; `over`: they signed out, or somebody else signed in. */
export type Lapse = 'lapsed' | 'renewed' | 'over';

const KEY = 'toolyard.session';
const listeners = new Set<() => void>();
const lapseListeners = new Set<(now: Lapse) => void>();
/** Whether it is kept beyond this tab, and so shared with the others. */
let remembered = false;
let ended = false;
let lapsed = false;
/** Grows whenever somebody signs in or out: what was asked in an earlier one is not for who is here now. */
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
    // What cannot be read is not there.
    return null;
  }
}

// Whoever signs out in one tab is out in all of them; and in, where nobody is.
window.addEventListener('storage', (event) => {
  if (!isOfSession(event)) return;
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

/** Whether another tab changed what is kept for all of them. */
export const isOfSession = (event: StorageEvent) => event.storageArea === localStorage && (event.key === KEY || event.key === null);

/** What is kept for all tabs now. */
export const keptForAll = () => readFrom(localStorage);

export function session(): Session | null {
  return current;
}

/** `remember` keeps it beyond this tab. */
export function signIn(next: Session, remember: boolean): void {
  if (!remember) localStorage.removeItem(KEY);
  keep(next, remember);
  ended = false;
  changed();
}

/** The token is not believed any more. Nothing is sent with it from now on. */
export function lapse(token: string): void {
  if (lapsed || current?.kind !== 'token' || current.token !== token) return;
  lapsed = true;
  tellLapse('lapsed');
}

/** The same user goes on with another token. */
export function renew(next: Session, remember: boolean): void {
  if (!lapsed) return;
  // Without `remember` the old token stays where other tabs look: they would take its loss for a sign-out.
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

/** `ended`: the server does not believe the token any more, and no page is open that could be lost. */
export function signOut(why: 'wanted' | 'ended' = 'wanted'): void {
  // A token that ended is no sign-out for the other tabs: somebody may be writing there.
  if (why === 'wanted') localStorage.removeItem(KEY);
  sessionStorage.removeItem(KEY);
  current = null;
  remembered = false;
  ended = why === 'ended';
  changed();
}

export const isRemembered = () => remembered;

/** Whether the last session ended by itself: nobody signed out. */
export const hasEnded = () => ended;

export const hasLapsed = () => lapsed;

/** Which of all sessions of this tab this is. */
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

/** Calls back when somebody signs in or out; gives what stops that. */
export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls back when the token lapses, and when that is over; gives what stops that. */
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

/** The headers that say who asks; none of a token that lapsed. */
export function credentials(who: Session | null = lapsed ? null : current): Record<string, string> {
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
