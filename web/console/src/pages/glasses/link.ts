/**
 * The glasses' connection. It lives in the module, not in the page: the glasses stay on while the user looks at other
 * pages of the console, and go off with the tab or the user.
 */
import { useSyncExternalStore } from 'react';
import { getGlassesTicket } from '../../api/console';
import { told } from '../../api/error';
import { meQuery, queryClient } from '../../api/queries';
import { onLapse, onSessionChange, session } from '../../api/session';
import { play, silence } from './sound';
import { FIRST, logged, loggedCall, looked, nextId, parted, received, spokenEnded, type LogKind, type Worn } from './state';
import { headPosition, ping, played, readMessage, wear, type Incoming } from './wire';

const PING_MS = 5_000;
/** Without a word for this long, the server is gone. */
const SILENCE_MS = 20_000;
const WAITS = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
const KEPT = 'toolyard.glasses';

let state: Worn = { ...FIRST, ...kept() };
let socket: WebSocket | null = null;
/** Grows with each wish to connect or not: what an older one brings is late. */
let wish = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let lastWord = 0;
/** Pings that the server has not answered yet. */
let unanswered = 0;
const listeners = new Set<() => void>();

const now = () => new Date().toISOString();

function set(next: Worn) {
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

export function useWorn(): Worn {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}

function kept(): Partial<Worn> {
  try {
    const { model, muted } = JSON.parse(localStorage.getItem(KEPT) ?? '{}') as Record<string, unknown>;
    return { model: typeof model === 'string' ? model : '', muted: muted === true };
  } catch {
    return {};
  }
}

const keep = () => localStorage.setItem(KEPT, JSON.stringify({ model: state.model, muted: state.muted }));

export function note(kind: LogKind, text: string, app: string | null = null): void {
  set(logged(state, kind, text, app, now()));
}

export function noteCall(id: string, text: string, app: string | null): void {
  set(loggedCall(state, id, text, app, now()));
}

export function setMuted(muted: boolean): void {
  set({ ...state, muted });
  keep();
  if (muted) silence();
}

export function forgetLog(): void {
  set({ ...state, log: [], aloud: [] });
}

/** Other glasses; those on the nose are changed at once. */
export function choose(model: string): void {
  if (model === state.model) return;
  set({ ...state, model });
  keep();
  if (state.status === 'on') introduce();
}

export function connect(): void {
  wish += 1;
  clearTimeout(timer);
  void dial(wish, 0, false);
}

export function disconnect(): void {
  wish += 1;
  clearTimeout(timer);
  silence();
  const old = socket;
  socket = null;
  if (state.status !== 'off') set(logged(parted(state, 'off', null), 'device', 'The glasses are off', null, now()));
  old?.close(1000, 'taken off');
}

/** False where nobody hears it. */
export function send(...messages: object[]): boolean {
  if (socket?.readyState !== WebSocket.OPEN) return false;
  for (const message of messages) socket.send(JSON.stringify(message));
  return true;
}

/** The wearer looks up or down; the dashboard is seen meanwhile. */
export function look(position: 'up' | 'down'): void {
  if (!send(headPosition(position))) return;
  set(looked(state, position === 'up'));
  note('you', `look ${position}`);
}

/** The pong comes when the server has taken in which glasses these are: then what fits them is asked anew. */
function introduce() {
  if (!send(wear(state.model), ping)) return;
  unanswered += 1;
  set({ ...state, pongs: unanswered });
  note('device', `These are ${state.model || 'glasses without a name'}`);
}

async function dial(mine: number, tries: number, wasOn: boolean): Promise<void> {
  set({ ...state, status: 'connecting' });
  let url: string;
  try {
    url = await address();
  } catch (error) {
    if (mine === wish) lost(mine, tries, wasOn, told(error));
    return;
  }
  if (mine !== wish) return;
  const next = new WebSocket(url);
  socket = next;
  let on = false;
  let pings: ReturnType<typeof setInterval> | undefined;
  next.onopen = () => {
    on = true;
    lastWord = Date.now();
    unanswered = 0;
    pings = setInterval(() => {
      if (Date.now() - lastWord > SILENCE_MS) next.close(4000, 'no word from the server');
      else if (next.readyState === WebSocket.OPEN) {
        next.send(JSON.stringify(ping));
        unanswered += 1;
      }
    }, PING_MS);
  };
  next.onmessage = (event: MessageEvent<unknown>) => {
    lastWord = Date.now();
    const message = typeof event.data === 'string' ? readMessage(event.data) : null;
    if (mine === wish && message !== null) heard(message);
  };
  next.onclose = (event) => {
    clearInterval(pings);
    if (mine !== wish) return;
    socket = null;
    // Whoever came back after a proper end would throw out the device that took their place, and it them.
    if (event.code === 1000)
      return over(
        event.reason === 'another device connected'
          ? 'Another device of this user connected, so these glasses are off.'
          : 'The server ended the session.',
      );
    if (!on && !wasOn) return over(state.problem ?? 'The server did not let the glasses in.');
    lost(mine, on ? 0 : tries, true, 'The connection was lost.');
  };
}

/** In dev mode the name is enough; else a ticket that is good once, because a browser's socket sends no headers. */
async function address(): Promise<string> {
  const who = session();
  const query = who?.kind === 'dev' ? { user: who.user } : { ticket: (await getGlassesTicket()).ticket };
  const url = new URL(`/glasses-ws?${new URLSearchParams(query).toString()}`, window.location.origin);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}

function over(problem: string) {
  wish += 1;
  silence();
  set(logged(parted(state, 'off', problem), 'problem', problem, null, now()));
}

function lost(mine: number, tries: number, wasOn: boolean, why: string) {
  if (!wasOn) return over(why);
  const first = state.status === 'on';
  set(parted(state, 'lost', why));
  if (first) note('problem', `${why} Trying again.`);
  timer = setTimeout(() => void dial(mine, tries + 1, true), WAITS[Math.min(tries, WAITS.length - 1)]);
}

function heard(message: Incoming) {
  if (message.type === 'pong') unanswered = Math.max(0, unanswered - 1);
  set(received(state, message, now()));
  if (message.type === 'ack') introduce();
  // Its own sounds, and those of no other app.
  if (message.type === 'quiet') silence(message.app);
  if (message.type === 'wish' && message.reply !== undefined) send(message.reply);
  if (message.type === 'play') void aloud(message);
}

async function aloud(message: Extract<Incoming, { type: 'play' }>) {
  const id = state.aloud[0]?.id ?? nextId();
  if (message.stopOthers) silence();
  if (state.muted) {
    set(spokenEnded(state, id, 'muted'));
    send(played(message.requestId, 0));
    return;
  }
  const {
    heard: spoken,
    durationMs,
    error,
  } = await play({ ...message, language: language(), serverSpeaks: queryClient.getQueryData(meQuery.queryKey)?.speech.speak === true });
  set(spokenEnded(state, id, spoken ? 'heard' : 'silent'));
  send(played(message.requestId, durationMs, error));
}

let spokenLanguage = 'en-US';
export const language = () => spokenLanguage;
export function setLanguage(next: string): void {
  spokenLanguage = next;
}

// The glasses are one user's.
onSessionChange(() => {
  disconnect();
  set({ ...state, log: [], aloud: [], problem: null });
});

let wornWhenLapsed = false;
onLapse((now) => {
  if (now === 'lapsed') {
    wornWhenLapsed = state.status !== 'off';
    disconnect();
  }
  if (now === 'renewed' && wornWhenLapsed) connect();
});
window.addEventListener('pagehide', disconnect);
