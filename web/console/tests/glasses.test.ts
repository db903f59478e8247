import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  INITIAL_STATE,
  withLogEntry,
  withCallLogged,
  withHeadPosition,
  MAX_ALOUD,
  MAX_LOG,
  MAX_LOGGED_CALLS,
  disconnected,
  applyMessage,
  visibleLayout,
  withSpokenOutcome,
} from '../src/pages/glasses/state';
import { speechAt } from '../src/pages/glasses/tts-address';
import {
  battery,
  gesturesOf,
  headPosition,
  MAX_TEXT,
  playbackResult,
  readMessage,
  connectionState,
  transcription,
  layoutText,
} from '../src/pages/glasses/wire';

const read = (message: object) => readMessage(JSON.stringify(message));
const AT = '2026-01-02T03:04:05.678Z';

test('every layout is parsed; invalid and unknown ones are ignored', () => {
  const layout = (fields: object) => {
    const message = read({ type: 'display_event', packageName: 'com.example.todo', view: 'main', layout: fields });
    assert.equal(message?.type, 'display');
    return message?.type === 'display' ? message.layout : null;
  };
  assert.deepEqual(layout({ layoutType: 'text_wall', text: 'a' }), { kind: 'text', text: 'a' });
  assert.deepEqual(layout({ layoutType: 'double_text_wall', topText: 'a', bottomText: 'b' }), { kind: 'two', top: 'a', bottom: 'b' });
  assert.deepEqual(layout({ layoutType: 'reference_card', title: 'a', text: 'b' }), { kind: 'card', title: 'a', text: 'b' });
  assert.deepEqual(layout({ layoutType: 'dashboard_card', leftText: 'a', rightText: 'b' }), { kind: 'sides', left: 'a', right: 'b' });
  assert.deepEqual(layout({ layoutType: 'bitmap_view', data: 'Qk0=' }), {
    kind: 'picture',
    frames: ['Qk0='],
    intervalMs: 0,
    repeat: false,
  });
  assert.deepEqual(layout({ layoutType: 'bitmap_animation', frames: ['Qk0=', 'Qk1='], interval: 1, repeat: true }), {
    kind: 'picture',
    frames: ['Qk0=', 'Qk1='],
    intervalMs: 100,
    repeat: true,
  });
  assert.deepEqual(layout({ layoutType: 'clear_view' }), { kind: 'clear' });
  assert.deepEqual(layout({ layoutType: 'hologram' }), { kind: 'unknown', name: 'hologram' });
  assert.deepEqual(layout({ layoutType: 'text_wall', text: 7 }), { kind: 'text', text: '' });
  // What is no base64 never gets into the address of a picture.
  assert.deepEqual(layout({ layoutType: 'bitmap_view', data: 'x" onerror="' }), {
    kind: 'picture',
    frames: [],
    intervalMs: 0,
    repeat: false,
  });
  const long = layout({ layoutType: 'text_wall', text: 'x'.repeat(MAX_TEXT + 1) });
  assert.equal(long?.kind === 'text' && long.text.length, MAX_TEXT);
});

test('other messages are parsed, and invalid ones are ignored', () => {
  assert.deepEqual(read({ type: 'connection_ack', sessionId: 'ada', timestamp: AT }), { type: 'ack', user: 'ada', at: AT });
  assert.deepEqual(read({ type: 'auth_error', message: 'expired' }), { type: 'refused', message: 'expired' });
  assert.deepEqual(read({ type: 'microphone_state_change', isMicrophoneEnabled: true }), { type: 'microphone', on: true });
  const play = { type: 'play', app: 'a', requestId: 'r', url: 'https://x/tts', text: 'milk', volume: 1, stopOthers: true };
  assert.deepEqual(
    read({ type: 'audio_play_request', packageName: 'a', requestId: 'r', audioUrl: 'https://x/tts', volume: 3, text: 'milk' }),
    play,
  );
  assert.equal(read({ type: 'photo_request', appId: 'a' })?.type, 'wish');
  const replyOf = (message: object) => {
    const wish = read(message);
    return wish?.type === 'wish' ? wish.reply : null;
  };
  assert.deepEqual(replyOf({ type: 'photo_request', requestId: 'p' }), {
    type: 'photo_response',
    requestId: 'p',
    success: false,
    error: { code: 'CAMERA_INIT_FAILED', message: 'the simulator has no camera' },
  });
  assert.deepEqual(replyOf({ type: 'rgb_led_control', requestId: 'l' }), {
    type: 'rgb_led_control_response',
    requestId: 'l',
    success: true,
  });
  assert.deepEqual(replyOf({ type: 'start_stream', streamId: 's' }), {
    type: 'rtmp_stream_status',
    streamId: 's',
    status: 'error',
    errorDetails: 'the simulator has no camera',
  });
  assert.equal(replyOf({ type: 'show_wifi_setup' }), undefined);
  assert.deepEqual(read({ type: 'udp_ping_ack' }), { type: 'other', name: 'udp_ping_ack' });
  for (const none of ['', '{', '[]', 'null', '{"type":1}']) assert.equal(readMessage(none), null);
});

test('device messages have the format of the phone app', () => {
  assert.deepEqual(connectionState('Mentra Live'), { type: 'glasses_connection_state', modelName: 'Mentra Live', status: 'CONNECTED' });
  assert.deepEqual(transcription('hi', false, 'de-DE'), {
    type: 'local_transcription',
    text: 'hi',
    isFinal: false,
    transcribeLanguage: 'de-DE',
  });
  assert.deepEqual(headPosition('up'), { type: 'head_position', position: 'up' });
  assert.deepEqual(battery(80, true), { type: 'glasses_battery_update', level: 80, charging: true });
  assert.deepEqual(playbackResult('r', 12), { type: 'audio_play_response', requestId: 'r', success: true, duration: 12 });
  assert.deepEqual(playbackResult('r', null, 'no'), { type: 'audio_play_response', requestId: 'r', success: false, error: 'no' });
});

test('gestures match the buttons of the glasses', () => {
  const gestures = (events: string[], type = 'press') =>
    gesturesOf({ modelName: 'M', hasButton: true, button: { buttons: [{ type, events }] } });
  assert.deepEqual(
    gestures(['press', 'double_press', 'long_press']).map((one) => one.name),
    ['Press', 'Double press', 'Long press'],
  );
  assert.deepEqual(
    gestures(['press']).map((one) => one.messages),
    [[{ type: 'button_press', buttonId: 'main', pressType: 'short' }], [{ type: 'button_press', buttonId: 'main', pressType: 'long' }]],
  );
  assert.deepEqual(
    gestures(['TAP', 'SWIPE_UP', 'MOONWALK'], 'swipe1d').map((one) => one.messages[0]),
    [
      { type: 'touch_event', device_model: 'M', gesture_name: 'single_tap' },
      { type: 'touch_event', device_model: 'M', gesture_name: 'up_swipe' },
    ],
  );
  assert.deepEqual(gesturesOf({ modelName: 'M', hasButton: false, button: { buttons: [{ type: 'press', events: ['press'] }] } }), []);
});

test('the display shows the last layout, and nothing after it is cleared or disconnected', () => {
  let worn = applyMessage(INITIAL_STATE, { type: 'ack', user: 'ada', at: AT }, AT);
  assert.equal(worn.status, 'on');
  worn = applyMessage(worn, { type: 'display', app: 'a', layout: { kind: 'text', text: '1. milk' }, durationMs: null }, AT);
  assert.equal(layoutText(worn.picture?.layout ?? { kind: 'clear' }), '1. milk');
  assert.equal(worn.log[0]?.text, 'draws: 1. milk');
  const cleared = applyMessage(worn, { type: 'display', app: 'a', layout: { kind: 'clear' }, durationMs: null }, AT);
  assert.equal(cleared.picture, null);
  const lost = disconnected(worn, 'lost', 'why');
  assert.deepEqual([lost.picture, lost.microphone, lost.problem, lost.log.length], [null, false, 'why', worn.log.length]);
});

test('the dashboard is visible while the wearer looks up, and does not replace the layout of the app', () => {
  const draw = (view: string, text: string) => {
    const message = read({ type: 'display_event', packageName: 'toolyard', view, layout: { layoutType: 'text_wall', text } });
    assert.ok(message);
    return message;
  };
  let worn = applyMessage(applyMessage(INITIAL_STATE, draw('main', 'the map'), AT), draw('dashboard', '3 open'), AT);
  assert.equal(layoutText(visibleLayout(worn)?.layout ?? { kind: 'clear' }), 'the map');
  worn = withHeadPosition(worn, true);
  assert.equal(layoutText(visibleLayout(worn)?.layout ?? { kind: 'clear' }), '3 open');
  worn = applyMessage(worn, draw('dashboard', '2 open'), AT);
  assert.equal(layoutText(visibleLayout(worn)?.layout ?? { kind: 'clear' }), '2 open');
  assert.equal(layoutText(visibleLayout(withHeadPosition(worn, false))?.layout ?? { kind: 'clear' }), 'the map');
  assert.equal(
    visibleLayout(applyMessage(withHeadPosition(INITIAL_STATE, true), draw('main', 'the map'), AT))?.app,
    'toolyard',
    'an empty dashboard hides nothing',
  );
  assert.deepEqual([disconnected(worn, 'lost', 'why').dashboard, disconnected(worn, 'lost', 'why').headUp], [null, false]);
  const mode = read({ type: 'dashboard_mode_change', mode: 'expanded' });
  assert.deepEqual(mode, { type: 'dashboard-mode', mode: 'expanded' });
});

test('log and transcript are limited', () => {
  let worn = INITIAL_STATE;
  for (let place = 0; place < MAX_LOG + 5; place += 1) worn = withLogEntry(worn, 'you', `word ${place}`, null, AT);
  assert.deepEqual([worn.log.length, worn.log[0]?.text], [MAX_LOG, `word ${MAX_LOG + 4}`]);
  for (let place = 0; place < MAX_ALOUD + 5; place += 1)
    worn = applyMessage(worn, { type: 'play', app: 'a', requestId: 'r', url: '', text: `say ${place}`, volume: 1, stopOthers: true }, AT);
  assert.equal(worn.aloud.length, MAX_ALOUD);
  const [newest] = worn.aloud;
  assert.ok(newest);
  assert.equal(withSpokenOutcome(worn, newest.id, 'heard').aloud[0]?.outcome, 'heard');
});

test('only the pong after a capability report triggers a reload', () => {
  const pong = (worn: typeof INITIAL_STATE) => applyMessage(worn, { type: 'pong' }, AT);
  assert.equal(pong(INITIAL_STATE), INITIAL_STATE);
  // One ping was on its way before.
  const one = pong({ ...INITIAL_STATE, pongs: 2 });
  assert.deepEqual([one.changes, one.pongs], [0, 1]);
  const two = pong(one);
  assert.deepEqual([two.changes, two.pongs], [1, 0]);
  assert.equal(pong(two), two);
});

test('only speech from this server is fetched, and signed URLs without credentials', () => {
  const at = (address: string) => speechAt(address, 'https://yard.example');
  assert.deepEqual(at('https://yard.example/api/tts?text=a'), { path: '/api/tts?text=a', signed: false });
  assert.deepEqual(at('http://127.0.0.1:8787/api/tts?text=a&signature=s'), { path: '/api/tts?text=a&signature=s', signed: true });
  for (const other of [
    'https://yard.example/api/tokens',
    'https://yard.example/api/tts/../tokens?signature=s',
    'https://evil.example/api/tts?text=a',
    'https://evil.example/a.mp3?signature=s',
    'https://',
  ])
    assert.equal(at(other), null);
});

test('a call is logged once, whether the stream or the ledger reports it first', () => {
  let worn = withCallLogged(INITIAL_STATE, 'c1', 'finished add: OK', 'a', AT);
  worn = withCallLogged(worn, 'c1', 'finished add: OK', 'a', AT);
  assert.deepEqual(
    worn.log.map((one) => [one.kind, one.text, one.app]),
    [['call', 'finished add: OK', 'a']],
  );
  for (let count = 0; count <= MAX_LOGGED_CALLS; count += 1) worn = withCallLogged(worn, `more${count}`, 'finished add: OK', 'a', AT);
  assert.equal(worn.loggedCalls.length, MAX_LOGGED_CALLS);
});

test('calls are shown since the connection, across a lost connection, and from the start after a disconnect', () => {
  const LATER = '2026-01-02T03:05:00.000Z';
  const on = applyMessage(INITIAL_STATE, { type: 'ack', user: 'ada', at: AT }, AT);
  assert.equal(on.since, AT);
  assert.equal(applyMessage(disconnected(on, 'lost', 'why'), { type: 'ack', user: 'ada', at: LATER }, AT).since, AT);
  assert.equal(disconnected(on, 'off', null).since, null);
  assert.equal(applyMessage(disconnected(on, 'off', null), { type: 'ack', user: 'ada', at: LATER }, AT).since, LATER);
});
