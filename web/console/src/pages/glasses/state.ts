/** The state of the simulated glasses. Pure: messages go in, the next state comes out. */
import { layoutText, type Incoming, type Layout } from './wire';

export type Status = 'off' | 'connecting' | 'on' | 'lost';

export interface Picture {
  app: string;
  layout: Layout;
}

export interface Spoken {
  id: number;
  at: string;
  app: string;
  /** The text; null if there is only audio. */
  text: string | null;
  outcome: 'playing' | 'heard' | 'muted' | 'silent';
}

export type LogKind = 'device' | 'app' | 'picture' | 'call' | 'you' | 'problem';

export interface LogEntry {
  id: number;
  at: string;
  kind: LogKind;
  /** The package of the app that caused it. */
  app: string | null;
  text: string;
}

export interface GlassesState {
  status: Status;
  /** The name of the model. */
  model: string;
  problem: string | null;
  picture: Picture | null;
  /** Visible while the wearer looks up. */
  dashboard: Picture | null;
  headUp: boolean;
  /** Whether an app listens. */
  microphone: boolean;
  muted: boolean;
  aloud: readonly Spoken[];
  log: readonly LogEntry[];
  /** Increases whenever apps or tools may have changed. */
  changes: number;
  /** When the server accepted the glasses, by its clock; null while they are off. A reconnect keeps it. */
  since: string | null;
  /** Calls that are already in the log, by id, newest first. */
  loggedCalls: readonly string[];
  /** Pongs until the one that confirms that the server knows the model; 0: none is expected. */
  pongs: number;
}

export const MAX_LOG = 200;
export const MAX_ALOUD = 50;
/** More than are loaded when the stream of calls starts, so that none of them is logged twice. */
export const MAX_LOGGED_CALLS = 200;

export const INITIAL_STATE: GlassesState = {
  status: 'off',
  model: '',
  problem: null,
  picture: null,
  dashboard: null,
  headUp: false,
  microphone: false,
  muted: false,
  aloud: [],
  log: [],
  changes: 0,
  since: null,
  loggedCalls: [],
  pongs: 0,
};

let made = 0;
export const nextId = () => ++made;

export function withLogEntry(state: GlassesState, kind: LogKind, text: string, app: string | null, at: string): GlassesState {
  const entry: LogEntry = { id: nextId(), at, kind, app, text: text.slice(0, 400) };
  return { ...state, log: [entry, ...state.log].slice(0, MAX_LOG) };
}

/** Logs a finished call, from the stream, or from the ledger if it ended before the stream started. Each call is logged once. */
export function withCallLogged(state: GlassesState, id: string, text: string, app: string | null, at: string): GlassesState {
  if (state.loggedCalls.includes(id)) return state;
  const loggedCalls = [id, ...state.loggedCalls].slice(0, MAX_LOGGED_CALLS);
  return withLogEntry({ ...state, loggedCalls }, 'call', text, app, at);
}

/** Handles a message of the server. Sounds are played elsewhere. */
export function applyMessage(state: GlassesState, message: Incoming, at: string): GlassesState {
  switch (message.type) {
    case 'ack':
      return { ...state, status: 'on', problem: null, changes: state.changes + 1, since: state.since ?? message.at };
    case 'refused':
      return { ...state, problem: message.message };
    case 'display': {
      const picture = message.layout.kind === 'clear' ? null : { app: message.app, layout: message.layout };
      const shown = layoutText(message.layout).replace(/\s+/g, ' ').trim();
      if (message.view === 'dashboard')
        return withLogEntry(
          { ...state, dashboard: picture },
          'picture',
          picture === null ? 'The dashboard is empty' : `The dashboard shows: ${shown}`,
          null,
          at,
        );
      return withLogEntry(
        { ...state, picture },
        'picture',
        picture === null ? 'The display was cleared' : `draws: ${shown}`,
        picture === null ? null : message.app,
        at,
      );
    }
    case 'dashboard-mode':
      return withLogEntry(state, 'device', `The dashboard is in the mode “${message.mode}”`, null, at);
    case 'started':
      return withLogEntry({ ...state, changes: state.changes + 1 }, 'app', 'started', message.app, at);
    case 'stopped':
      return withLogEntry({ ...state, changes: state.changes + 1 }, 'app', 'stopped', message.app, at);
    case 'apps-changed':
      return { ...state, changes: state.changes + 1 };
    case 'pong':
      // Other pongs only show that the server is alive.
      if (state.pongs === 0) return state;
      return { ...state, pongs: state.pongs - 1, changes: state.pongs === 1 ? state.changes + 1 : state.changes };
    case 'microphone':
      return state.microphone === message.on
        ? state
        : withLogEntry(
            { ...state, microphone: message.on },
            'device',
            message.on ? 'The microphone is on' : 'The microphone is off',
            null,
            at,
          );
    case 'play': {
      const spoken: Spoken = { id: nextId(), at, app: message.app, text: message.text, outcome: 'playing' };
      const description = message.text === null ? 'plays a sound' : `says: ${message.text}`;
      return withLogEntry({ ...state, aloud: [spoken, ...state.aloud].slice(0, MAX_ALOUD) }, 'app', description, message.app, at);
    }
    case 'quiet':
      return withLogEntry(state, 'app', 'stops its sound', message.app, at);
    case 'wish':
      return withLogEntry(state, 'app', message.what, message.app, at);
    case 'other':
      return state;
  }
}

export function withSpokenOutcome(state: GlassesState, id: number, outcome: Spoken['outcome']): GlassesState {
  return { ...state, aloud: state.aloud.map((one) => (one.id === id ? { ...one, outcome } : one)) };
}

/** The wearer looks up to the dashboard, or down again. */
export function withHeadPosition(state: GlassesState, headUp: boolean): GlassesState {
  return { ...state, headUp };
}

/** The visible layout. */
export const visibleLayout = (state: GlassesState): Picture | null =>
  state.headUp && state.dashboard !== null ? state.dashboard : state.picture;

/** The socket is closed: state that depends on it is reset. The log stays. */
export function disconnected(state: GlassesState, status: 'off' | 'lost', problem: string | null): GlassesState {
  const since = status === 'off' ? null : state.since;
  return {
    ...state,
    status,
    problem,
    picture: null,
    dashboard: null,
    headUp: false,
    microphone: false,
    changes: state.changes + 1,
    since,
    pongs: 0,
  };
}
