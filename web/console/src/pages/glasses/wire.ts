/**
 * The messages between a device and the server. Incoming messages are parsed with care, because they contain data of apps. Outgoing
 * messages have the format of the phone app.
 */
export type Layout =
  | { kind: 'text'; text: string }
  | { kind: 'two'; top: string; bottom: string }
  | { kind: 'card'; title: string; text: string }
  | { kind: 'sides'; left: string; right: string }
  | { kind: 'picture'; frames: string[]; intervalMs: number; repeat: boolean }
  | { kind: 'clear' }
  | { kind: 'unknown'; name: string };

/** The display has two views: what apps draw, and the dashboard, which is visible while the wearer looks up. */
type View = 'main' | 'dashboard';

export type Incoming =
  | { type: 'ack'; user: string | null; at: string | null }
  | { type: 'refused'; message: string }
  | { type: 'pong' }
  | { type: 'display'; app: string; view?: View; layout: Layout; durationMs: number | null }
  | { type: 'dashboard-mode'; mode: string }
  | { type: 'started' | 'stopped'; app: string }
  | { type: 'apps-changed' }
  | { type: 'microphone'; on: boolean }
  | { type: 'play'; app: string; requestId: string; url: string; text: string | null; volume: number; stopOthers: boolean }
  | { type: 'quiet'; app: string }
  | { type: 'wish'; app: string | null; what: string; reply?: object }
  | { type: 'other'; name: string };

/** Maximum characters of a text and maximum frames of an animation. */
export const MAX_TEXT = 4_000;
const MAX_FRAMES = 60;
const MAX_PICTURE = 1_500_000;

type Fields = Record<string, unknown>;

const text = (value: unknown, most = MAX_TEXT): string => (typeof value === 'string' ? value.slice(0, most) : '');
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Requests of apps that a web page cannot fulfill. */
const WISHES: Record<string, string> = {
  photo_request: 'requests a photo; the simulator has no camera',
  start_stream: 'requests live video; the simulator has no camera',
  stop_stream: 'ends its live video',
  rgb_led_control: 'switches a lamp',
  request_single_location: 'requests your location; the simulator has none',
  set_location_tier: 'requests your position; the simulator has none',
  show_wifi_setup: 'requests Wi-Fi',
};

const NO_CAMERA = 'the simulator has no camera';

/** The device's responses, so that no app waits forever. */
function replyTo(message: Fields): object | undefined {
  const requestId = text(message.requestId, 500);
  switch (message.type) {
    case 'photo_request':
      return { type: 'photo_response', requestId, success: false, error: { code: 'CAMERA_INIT_FAILED', message: NO_CAMERA } };
    case 'start_stream':
      return { type: 'rtmp_stream_status', streamId: text(message.streamId, 500), status: 'error', errorDetails: NO_CAMERA };
    case 'rgb_led_control':
      return { type: 'rgb_led_control_response', requestId, success: true };
    default:
      return undefined;
  }
}

/** Null if it is not a valid message. */
export function readMessage(data: string): Incoming | null {
  let message: unknown;
  try {
    message = JSON.parse(data);
  } catch {
    return null;
  }
  if (!isFields(message) || typeof message.type !== 'string') return null;
  const app = text(message.packageName, 200);
  switch (message.type) {
    case 'connection_ack':
      return {
        type: 'ack',
        user: typeof message.sessionId === 'string' ? message.sessionId : null,
        at: text(message.timestamp, 60) || null,
      };
    case 'connection_error':
    case 'auth_error':
      return { type: 'refused', message: text(message.message, 500) || 'The server rejected the glasses.' };
    case 'pong':
      return { type: 'pong' };
    case 'display_event':
      return {
        type: 'display',
        app,
        view: message.view === 'dashboard' ? 'dashboard' : 'main',
        layout: readLayout(message.layout),
        durationMs: typeof message.durationMs === 'number' ? message.durationMs : null,
      };
    case 'dashboard_mode_change':
      return { type: 'dashboard-mode', mode: text(message.mode, 60) };
    case 'app_started':
      return { type: 'started', app };
    case 'app_stopped':
      return { type: 'stopped', app };
    case 'app_state_change':
      return { type: 'apps-changed' };
    case 'microphone_state_change':
      return { type: 'microphone', on: message.isMicrophoneEnabled === true };
    case 'audio_play_request':
      return {
        type: 'play',
        app,
        requestId: text(message.requestId, 500),
        url: text(message.audioUrl, 8_000),
        text: typeof message.text === 'string' ? text(message.text) : null,
        volume: typeof message.volume === 'number' ? Math.min(1, Math.max(0, message.volume)) : 1,
        stopOthers: message.stopOtherAudio !== false,
      };
    case 'audio_stop_request':
      return { type: 'quiet', app };
    default: {
      const wish = WISHES[message.type];
      const whose = app || text(message.appId, 200) || text(message.appPackageName, 200);
      if (wish === undefined) return { type: 'other', name: text(message.type, 60) };
      const reply = replyTo(message);
      return { type: 'wish', app: whose || null, what: wish, ...(reply !== undefined && { reply }) };
    }
  }
}

function readLayout(value: unknown): Layout {
  if (!isFields(value)) return { kind: 'unknown', name: '?' };
  switch (value.layoutType) {
    case 'text_wall':
      return { kind: 'text', text: text(value.text) };
    case 'double_text_wall':
      return { kind: 'two', top: text(value.topText), bottom: text(value.bottomText) };
    case 'reference_card':
      return { kind: 'card', title: text(value.title), text: text(value.text) };
    case 'dashboard_card':
      return { kind: 'sides', left: text(value.leftText), right: text(value.rightText) };
    case 'bitmap_view':
      return { kind: 'picture', frames: pictures([value.data]), intervalMs: 0, repeat: false };
    case 'bitmap_animation': {
      const frames = pictures(Array.isArray(value.frames) ? value.frames : []);
      const intervalMs = typeof value.interval === 'number' ? Math.max(100, value.interval) : 1_000;
      return { kind: 'picture', frames, intervalMs, repeat: value.repeat === true };
    }
    case 'clear_view':
      return { kind: 'clear' };
    default:
      return { kind: 'unknown', name: text(value.layoutType, 60) || '?' };
  }
}

/** Only base64, because the text becomes part of a data URL. */
function pictures(frames: unknown[]): string[] {
  const good = (frame: unknown): frame is string =>
    typeof frame === 'string' && frame.length <= MAX_PICTURE && /^[A-Za-z0-9+/\s]+=*\s*$/.test(frame);
  return frames.slice(0, MAX_FRAMES).filter(good);
}

/** The content of the display as text: for the log, and for screen readers. */
export function layoutText(layout: Layout): string {
  switch (layout.kind) {
    case 'text':
      return layout.text;
    case 'two':
      return `${layout.top}\n${layout.bottom}`;
    case 'card':
      return `${layout.title}\n${layout.text}`;
    case 'sides':
      return `${layout.left} | ${layout.right}`;
    case 'picture':
      return layout.frames.length === 0
        ? '(an invalid image)'
        : layout.frames.length === 1
          ? '(an image)'
          : `(an animation of ${layout.frames.length} images)`;
    case 'clear':
      return '';
    case 'unknown':
      return `(an unknown layout: ${layout.name})`;
  }
}

export const ping = { type: 'ping' };
export const connectionState = (modelName: string) => ({ type: 'glasses_connection_state', modelName, status: 'CONNECTED' });
export const transcription = (spoken: string, isFinal: boolean, transcribeLanguage: string) => ({
  type: 'local_transcription',
  text: spoken,
  isFinal,
  transcribeLanguage,
});
export const headPosition = (position: 'up' | 'down') => ({ type: 'head_position', position });
export const battery = (level: number, charging: boolean) => ({ type: 'glasses_battery_update', level, charging });
export const playbackResult = (requestId: string, durationMs: number | null, error?: string) => ({
  type: 'audio_play_response',
  requestId,
  success: error === undefined,
  ...(error !== undefined && { error }),
  ...(durationMs !== null && { duration: durationMs }),
});

/** A gesture on the glasses, and the messages that the device sends. */
export interface Gesture {
  name: string;
  messages: readonly object[];
}

const press = (pressType: 'short' | 'long') => ({ type: 'button_press', buttonId: 'main', pressType });

const PRESSES: Record<string, Gesture> = {
  press: { name: 'Press', messages: [press('short')] },
  long_press: { name: 'Long press', messages: [press('long')] },
  // The protocol has only short and long presses; a double press is two short ones.
  double_press: { name: 'Double press', messages: [press('short'), press('short')] },
};

const TOUCHES: Record<string, [name: string, gesture: string]> = {
  TAP: ['Tap', 'single_tap'],
  DOUBLE_TAP: ['Double tap', 'double_tap'],
  TRIPLE_TAP: ['Triple tap', 'triple_tap'],
  PRESS_HOLD: ['Long touch', 'long_press'],
  SWIPE_UP: ['Swipe up', 'up_swipe'],
  SWIPE_DOWN: ['Swipe down', 'down_swipe'],
  SWIPE_FORWARD: ['Swipe forward', 'forward_swipe'],
  SWIPE_BACKWARD: ['Swipe back', 'backward_swipe'],
};

/** The gestures that the buttons of these glasses can report. A button that reports a press can also be held. */
export function gesturesOf(model: {
  modelName: string;
  hasButton: boolean;
  button?: { buttons?: readonly { type: string; events: readonly string[] }[] | null } | null;
}): Gesture[] {
  if (!model.hasButton) return [];
  const gestures = new Map<string, Gesture>();
  const add = (gesture: Gesture | undefined) => gesture !== undefined && gestures.set(gesture.name, gesture);
  for (const button of model.button?.buttons ?? []) {
    for (const event of button.events) {
      const touch = TOUCHES[event];
      add(PRESSES[event]);
      if (touch !== undefined)
        add({ name: touch[0], messages: [{ type: 'touch_event', device_model: model.modelName, gesture_name: touch[1] }] });
    }
    if (button.type === 'press') add(PRESSES.long_press);
  }
  return [...gestures.values()];
}
