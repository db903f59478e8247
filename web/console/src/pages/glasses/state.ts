/** What the simulated glasses show and remember. Pure: messages go in, the next state comes out. */
import { wordsOf, type Incoming, type Layout } from './wire';

export type Status = 'off' | 'connecting' | 'on' | 'lost';

export interface Picture {
  app: string;
  layout: Layout;
}

export interface Spoken {
  id: number;
  at: string;
  app: string;
  /** The words; null where there is only a sound. */
  text: string | null;
  outcome: 'playing' | 'heard' | 'muted' | 'silent';
}

export type LogKind = 'device' | 'app' | 'picture' | 'call' | 'you' | 'problem';

export interface LogEntry {
  id: number;
  at: string;
  kind: LogKind;
  /** Whose doing it is, by package. */
  app: string | null;
  text: string;
}

export interface Worn {
  status: Status;
  /** Which glasses, by the name of the model. */
  model: string;
  problem: string | null;
  picture: Picture | null;
  /** Seen while the wearer looks up. */
  dashboard: Picture | null;
  headUp: boolean;
  /** Whether an app listens. */
  microphone: boolean;
  muted: boolean;
  aloud: readonly Spoken[];
  log: readonly LogEntry[];
  /** Grows whenever apps or tools may have changed. */
  changes: number;
  /** When the server let the glasses in, by its own clock; null while they are off. A lost connection that comes back keeps it. */
  since: string | null;
  /** Calls that stand in the log already, by id, the newest first. */
  loggedCalls: readonly string[];
  /** Pongs until the one that says that the server knows which glasses these are; 0: none is waited for. */
  pongs: number;
}

export const MAX_LOG = 200;
export const MAX_ALOUD = 50;
/** More than are read at once after the stream of calls begins, so that none of those is logged twice. */
export const MAX_LOGGED_CALLS = 200;

export const FIRST: Worn = {
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

export function logged(state: Worn, kind: LogKind, text: string, app: string | null, at: string): Worn {
  const entry: LogEntry = { id: nextId(), at, kind, app, text: text.slice(0, 400) };
  return { ...state, log: [entry, ...state.log].slice(0, MAX_LOG) };
}

/** A call ended: heard from the stream, or read from the ledger because it ended before the stream began. It is logged once. */
export function loggedCall(state: Worn, id: string, text: string, app: string | null, at: string): Worn {
  if (state.loggedCalls.includes(id)) return state;
  const loggedCalls = [id, ...state.loggedCalls].slice(0, MAX_LOGGED_CALLS);
  return logged({ ...state, loggedCalls }, 'call', text, app, at);
}

/** A message of the server. Sounds are played elsewhere. */
export function received(state: Worn, message: Incoming, at: string): Worn {
  switch (message.type) {
    case 'ack':
      return { ...state, status: 'on', problem: null, changes: state.changes + 1, since: state.since ?? message.at };
    case 'refused':
      return { ...state, problem: message.message };
    case 'display': {
      const picture = message.layout.kind === 'clear' ? null : { app: message.app, layout: message.layout };
      const said = wordsOf(message.layout).replace(/\s+/g, ' ').trim();
      if (message.view === 'dashboard')
        return logged(
          { ...state, dashboard: picture },
          'picture',
          picture === null ? 'The dashboard is empty' : `The dashboard says: ${said}`,
          null,
          at,
        );
      return logged(
        { ...state, picture },
        'picture',
        picture === null ? 'The display is clear' : `draws: ${said}`,
        picture === null ? null : message.app,
        at,
      );
    }
    case 'dashboard-mode':
      return logged(state, 'device', `The dashboard is in the mode “${message.mode}”`, null, at);
    case 'started':
      return logged({ ...state, changes: state.changes + 1 }, 'app', 'started', message.app, at);
    case 'stopped':
      return logged({ ...state, changes: state.changes + 1 }, 'app', 'stopped', message.app, at);
    case 'apps-changed':
      return { ...state, changes: state.changes + 1 };
    case 'pong':
      // The others only say that the server is there.
      if (state.pongs === 0) return state;
      return { ...state, pongs: state.pongs - 1, changes: state.pongs === 1 ? state.changes + 1 : state.changes };
    case 'microphone':
      return state.microphone === message.on
        ? state
        : logged({ ...state, microphone: message.on }, 'device', message.on ? 'The microphone is on' : 'The microphone is off', null, at);
    case 'play': {
      const spoken: Spoken = { id: nextId(), at, app: message.app, text: message.text, outcome: 'playing' };
      const said = message.text === null ? 'plays a sound' : `says: ${message.text}`;
      return logged({ ...state, aloud: [spoken, ...state.aloud].slice(0, MAX_ALOUD) }, 'app', said, message.app, at);
    }
    case 'quiet':
      return logged(state, 'app', 'stops its sound', message.app, at);
    case 'wish':
      return logged(state, 'app', message.what, message.app, at);
    case 'other':
      return state;
  }
}

export function spokenEnded(state: Worn, id: number, outcome: Spoken['outcome']): Worn {
  return { ...state, aloud: state.aloud.map((one) => (one.id === id ? { ...one, outcome } : one)) };
}

/** The wearer looks up, to the dashboard, or down again. */
export function looked(state: Worn, headUp: boolean): Worn {
  return { ...state, headUp };
}

/** What is seen now. */
export const seen = (state: Worn): Picture | null => (state.headUp && state.dashboard !== null ? state.dashboard : state.picture);

/** The socket is gone: what depends on it is gone too. The log stays. */
export function parted(state: Worn, status: 'off' | 'lost', problem: string | null): Worn {
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
