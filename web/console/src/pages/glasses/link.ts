/**
 * The connection of the glasses. It lives in the module, not in the page: the glasses stay on while the user visits other pages of the
 * console, and go off when the tab is closed or the user signs out.
 */
import { useSyncExternalStore } from 'react';
import { getGlassesTicket } from '../../api/console';
import { errorText } from '../../api/error';
import { meQuery, queryClient } from '../../api/queries';
import { onLapse, onSessionChange, session } from '../../api/session';
import { play, stopSounds } from './sound';
import {
  INITIAL_STATE,
  withLogEntry,
  withCallLogged,
  withHeadPosition,
  nextId,
  disconnected,
  applyMessage,
  withSpokenOutcome,
  type LogKind,
  type GlassesState,
} from './state';
import { headPosition, ping, playbackResult, readMessage, connectionState, type Incoming } from './wire';

const PING_MS = 5_000;
/** Without a message for this long, the connection counts as lost. */
const SILENCE_MS = 20_000;
const WAITS = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
const KEPT = 'toolyard.glasses';

let state: GlassesState = { ...INITIAL_STATE, ...kept() };
let socket: WebSocket | null = null;
/** Increases with each connect or disconnect. Results of an older attempt are ignored. */
let wish = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
let lastWord = 0;
/** Pings without a pong. */
let unanswered = 0;
const listeners = new Set<() => void>();

const now = () => new Date().toISOString();

function set(next: GlassesState) {
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

export function useGlassesState(): GlassesState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}

function kept(): Partial<GlassesState> {
  try {
    const { model, muted } = JSON.parse(localStorage.getItem(KEPT) ?? '{}') as Record<string, unknown>;
    return { model: typeof model === 'string' ? model : '', muted: muted === true };
  } catch {
    return {};
  }
}

const keep = () => localStorage.setItem(KEPT, JSON.stringify({ model: state.model, muted: state.muted }));

export function logEvent(kind: LogKind, text: string, app: string | null = null): void {
  set(withLogEntry(state, kind, text, app, now()));
}

export function logCall(id: string, text: string, app: string | null): void {
  set(withCallLogged(state, id, text, app, now()));
}

export function setMuted(muted: boolean): void {
  set({ ...state, muted });
  keep();
  if (muted) stopSounds();
}

export function clearLog(): void {
  set({ ...state, log: [], aloud: [] });
}

/** Selects another model. Connected glasses change immediately. */
export function selectModel(model: string): void {
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
  stopSounds();
  const old = socket;
  socket = null;
  if (state.status !== 'off') set(withLogEntry(disconnected(state, 'off', null), 'device', 'The glasses are off', null, now()));
  old?.close(1000, 'taken off');
}

/** False if the socket is not open. */
export function send(...messages: object[]): boolean {
  if (socket?.readyState !== WebSocket.OPEN) return false;
  for (const message of messages) socket.send(JSON.stringify(message));
  return true;
}

/** The wearer looks up or down; the dashboard is visible while looking up. */
export function look(position: 'up' | 'down'): void {
  if (!send(headPosition(position))) return;
  set(withHeadPosition(state, position === 'up'));
  logEvent('you', `look ${position}`);
}

/** The pong arrives when the server has processed the model. Then everything that depends on it is reloaded. */
function introduce() {
  if (!send(connectionState(state.model), ping)) return;
  unanswered += 1;
  set({ ...state, pongs: unanswered });
  logEvent('device', `Model: ${state.model || 'none'}`);
}

async function dial(mine: number, tries: number, wasOn: boolean): Promise<void> {
  set({ ...state, status: 'connecting' });
  let url: string;
  try {
    url = await address();
  } catch (error) {
    if (mine === wish) lost(mine, tries, wasOn, errorText(error));
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
      if (Date.now() - lastWord > SILENCE_MS) next.close(4000, 'no message from the server');
      else if (next.readyState === WebSocket.OPEN) {
        next.send(JSON.stringify(ping));
        unanswered += 1;
      }
    }, PING_MS);
  };
  next.onmessage = (event: MessageEvent<unknown>) => {
    lastWord = Date.now();
    const message = typeof event.data === 'string' ? readMessage(event.data) : null;
    if (mine === wish && message !== null) handleMessage(message);
  };
  next.onclose = (event) => {
    clearInterval(pings);
    if (mine !== wish) return;
    socket = null;
    // Do not reconnect after a regular close: it would disconnect the device that replaced this one, and vice versa.
    if (event.code === 1000)
      return over(
        event.reason === 'another device connected'
          ? 'Another device of this user connected, so these glasses were turned off.'
          : 'The server ended the session.',
      );
    if (!on && !wasOn) return over(state.problem ?? 'The server rejected the glasses.');
    lost(mine, on ? 0 : tries, true, 'The connection was lost.');
  };
}

/** In dev mode the name is enough; otherwise a single-use ticket, because browser sockets cannot send headers. */
async function address(): Promise<string> {
  const who = session();
  const query = who?.kind === 'dev' ? { user: who.user } : { ticket: (await getGlassesTicket()).ticket };
  const url = new URL(`/glasses-ws?${new URLSearchParams(query).toString()}`, window.location.origin);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}

function over(problem: string) {
  wish += 1;
  stopSounds();
  set(withLogEntry(disconnected(state, 'off', problem), 'problem', problem, null, now()));
}

function lost(mine: number, tries: number, wasOn: boolean, why: string) {
  if (!wasOn) return over(why);
  const first = state.status === 'on';
  set(disconnected(state, 'lost', why));
  if (first) logEvent('problem', `${why} Reconnecting.`);
  timer = setTimeout(() => void dial(mine, tries + 1, true), WAITS[Math.min(tries, WAITS.length - 1)]);
}

function handleMessage(message: Incoming) {
  if (message.type === 'pong') unanswered = Math.max(0, unanswered - 1);
  set(applyMessage(state, message, now()));
  if (message.type === 'ack') introduce();
  // Only sounds of this app, not of others.
  if (message.type === 'quiet') stopSounds(message.app);
  if (message.type === 'wish' && message.reply !== undefined) send(message.reply);
  if (message.type === 'play') void aloud(message);
}

async function aloud(message: Extract<Incoming, { type: 'play' }>) {
  const id = state.aloud[0]?.id ?? nextId();
  if (message.stopOthers) stopSounds();
  if (state.muted) {
    set(withSpokenOutcome(state, id, 'muted'));
    send(playbackResult(message.requestId, 0));
    return;
  }
  const {
    wasPlayed: spoken,
    durationMs,
    error,
  } = await play({ ...message, language: language(), serverSpeaks: queryClient.getQueryData(meQuery.queryKey)?.speech.speak === true });
  set(withSpokenOutcome(state, id, spoken ? 'heard' : 'silent'));
  send(playbackResult(message.requestId, durationMs, error));
}

let spokenLanguage = 'en-US';
export const language = () => spokenLanguage;
export function setLanguage(next: string): void {
  spokenLanguage = next;
}

// The glasses belong to one user.
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
