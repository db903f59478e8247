/**
 * Who uses the console: a user with a session cookie or a token, or in dev mode any user name. Stored in the browser; a token only for
 * this tab, unless the user wants to stay signed in. The cookie itself is invisible to scripts: only the fact is stored. A cookie or token
 * can lapse, because it expired or was revoked. That is not a sign-out: the page stays as it is until the same user signs in again, or
 * signs out.
 */
import { useSyncExternalStore } from 'react';

export type Session =
  | { kind: 'cookie'; user: string; actingFor?: string /** When this browser signed in: other tabs notice that it changed. */; at?: number }
  | { kind: 'token'; token: string; actingFor?: string }
  | { kind: 'dev'; user: string };
/** `renewed`: the same user signed in again; `over`: the user signed out, or another user signed in. */
export type Lapse = 'lapsed' | 'renewed' | 'over';

const KEY = 'toolyard.session';
const listeners = new Set<() => void>();
const lapseListeners = new Set<(now: Lapse) => void>();
const signOutListeners = new Set<(who: Session) => Promise<void>>();
/** Whether it is stored beyond this tab and shared with other tabs. */
let remembered = false;
let ended: Session['kind'] | null = null;
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

// A sign-out in one tab applies to all tabs. A sign-in applies to tabs without a session, and to those that use the replaced cookie.
window.addEventListener('storage', (event) => {
  if (!isSessionEvent(event)) return;
  if (current !== null && (!remembered || localStorage.getItem(KEY) !== null) && !isCookieReplaced()) return;
  const before = current;
  current = read();
  if (current === before) return;
  ended = null;
  changed();
});

/** Whether the cookie, which all tabs share, now belongs to another user. A lapsed page asks its user first. */
function isCookieReplaced(): boolean {
  const shared = readFrom(localStorage);
  return !lapsed && current?.kind === 'cookie' && shared?.kind === 'cookie' && shared.user !== current.user;
}

function isSession(value: unknown): value is Session {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, token, user } = value as Record<string, unknown>;
  return kind === 'token' ? typeof token === 'string' : (kind === 'dev' || kind === 'cookie') && typeof user === 'string';
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
  ended = null;
  changed();
}

/** The cookie or token of this session is no longer valid. Nothing more is sent with it. */
export function lapse(who: Session): void {
  if (lapsed || current !== who || who.kind === 'dev') return;
  lapsed = true;
  tellLapse('lapsed');
}

/** The same user continues with another cookie or token. */
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

/**
 * Forgets the session in this browser; `leave` also ends it on the server. `announced`: the listeners were already called. `ended`: the
 * cookie or token is no longer valid, and no page is open that could be lost.
 */
export function signOut(why: 'wanted' | 'announced' | 'ended' = 'wanted'): void {
  if (why === 'wanted') void announceSignOut();
  // An expired credential is not a sign-out for other tabs, where the user may have unsaved input.
  if (why !== 'ended') localStorage.removeItem(KEY);
  sessionStorage.removeItem(KEY);
  ended = why === 'ended' ? (current?.kind ?? null) : null;
  current = null;
  remembered = false;
  changed();
}

/** Calls the listeners while the session is still valid. Resolves when all of them are done; they do not fail. */
export async function announceSignOut(): Promise<void> {
  const who = current;
  if (who !== null) await Promise.all([...signOutListeners].map((listener) => listener(who)));
}

export const isRemembered = () => remembered;

/** The kind of the last session, if it ended without a sign-out. */
export const endedKind = () => ended;

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
export function onSignOut(listener: (who: Session) => Promise<void>): () => void {
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

/** The headers with the credential. None after the session lapsed. The browser adds a cookie by itself. */
export function credentials(who: Session | null = lapsed ? null : current): Record<string, string> {
  if (who === null) return {};
  if (who.kind === 'dev') return asUser(who.user);
  return {
    ...(who.kind === 'token' && { Authorization: `Bearer ${who.token}` }),
    ...(who.actingFor !== undefined && asUser(who.actingFor)),
  };
}

/** The header that names the user of a request: in dev mode oneself, and for operators another user. */
export const asUser = (user: string): Record<string, string> => ({ 'X-User-Id': encodeUser(user) });

/** The same session without the user that an operator acts for. */
export function ownSession(who: Session): Session {
  if (who.kind === 'dev') return who;
  const { actingFor: _, ...own } = who;
  return own;
}

/** The session for the cookie that the server has just set. */
export const cookieSession = (user: string): Session => ({ kind: 'cookie', user, at: Date.now() });

/** Header values of `fetch` are bytes; the server decodes names as UTF-8. */
function encodeUser(user: string): string {
  return String.fromCharCode(...new TextEncoder().encode(user));
}
