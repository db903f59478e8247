import './browser-parts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserLabel, isAppleTouchDevice } from '../src/push/browser-label';
import { forget, readRemembered, remember } from '../src/push/remembered';
import { requestedPath } from '../src/push/requested-path';
import { decodeKey, isSameKey } from '../src/push/server-key';
import { isActing } from '../src/push/session';
import { isCurrent, pushState, testText, type BrowserState } from '../src/push/state';

const agent = (userAgent: string, maxTouchPoints = 0) => ({ userAgent, maxTouchPoints });
const MAC = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.3 Safari/605.1.15';

test('a browser is named by its user agent', () => {
  for (const [userAgent, label] of [
    ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36', 'Chrome on Linux'],
    ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0 Safari/537.36', 'Chrome on Linux'],
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0', 'Edge on Windows'],
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36 OPR/120.0', 'Opera on Windows'],
    ['Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/140.0.0.0 Mobile Safari/537.36', 'Chrome on Android'],
    ['Mozilla/5.0 (Linux; Android 10; K) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36', 'Samsung Internet on Android'],
    ['Mozilla/5.0 (Android 15; Mobile; rv:143.0) Gecko/143.0 Firefox/143.0', 'Firefox on Android'],
    ['Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36', 'Chrome on ChromeOS'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) Version/18.6 Mobile/15E148 Safari/604.1', 'Safari on iPhone'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) CriOS/140.0 Mobile/15E148 Safari/604.1', 'Chrome on iPhone'],
    [MAC, 'Safari on macOS'],
    ['curl/8.5.0', 'Browser'],
    ['', 'Browser'],
  ] as const) {
    assert.equal(browserLabel(agent(userAgent)), label, userAgent);
  }
  assert.equal(browserLabel(agent(MAC, 5)), 'Safari on iPad');
  assert.deepEqual(
    [isAppleTouchDevice(agent(MAC, 5)), isAppleTouchDevice(agent(MAC)), isAppleTouchDevice(agent(''))],
    [true, false, false],
  );
});

/** A key as the server sends it, with both characters that plain base64 has not. */
const KEY = 'BP-_AQID';
const bytes = (...values: number[]) => new Uint8Array(values).buffer;
const keyBytes = bytes(4, 255, 191, 1, 2, 3);

test('a subscription belongs to a key if all bytes are equal', () => {
  assert.deepEqual(decodeKey(KEY).buffer, keyBytes);
  // A server may add padding.
  assert.deepEqual([...decodeKey('BP8=')], [4, 255]);
  assert.ok(isSameKey(keyBytes, KEY));
  for (const other of [null, bytes(), bytes(4, 255, 191, 1, 2), bytes(4, 255, 191, 1, 2, 4), bytes(4, 255, 191, 1, 2, 3, 0)]) {
    assert.ok(!isSameKey(other, KEY));
  }
});

const info = <Key extends string | null>(publicKey: Key, ...ids: string[]) => ({
  publicKey,
  subscriptions: ids.map((id) => ({ id, label: id, host: 'push.example', createdAt: '2026-06-01T10:00:00Z' })),
});
const ready: BrowserState = {
  isSecure: true,
  isSupported: true,
  isAppleTouchDevice: false,
  permission: 'granted',
  subscriptionId: 'here',
};

test('notifications are on only if browser and server agree, and otherwise there is one reason', () => {
  assert.equal(pushState(ready, info(KEY, 'phone', 'here')), 'on');
  for (const [changes, given, expected] of [
    [{}, info(KEY, 'phone'), 'off'],
    [{ subscriptionId: null }, info(KEY, 'phone'), 'off'],
    [{ permission: 'default' }, info(KEY, 'here'), 'off'],
    [{ permission: 'denied' }, info(KEY, 'here'), 'denied'],
    [{ isSupported: false }, info(KEY), 'unsupported'],
    [{ isSupported: false, isAppleTouchDevice: true }, info(KEY), 'homeScreenOnly'],
    [{ isSecure: false, isSupported: false, isAppleTouchDevice: true }, info(KEY), 'insecure'],
    [{ isSecure: false, isSupported: false }, info(null), 'switchedOff'],
  ] as const) {
    assert.equal(pushState({ ...ready, ...changes }, given), expected);
  }
});

test('a subscription is renewed if the endpoint, the key or the list of the server differ', () => {
  const subscription = { endpoint: 'https://push.example/1', options: { applicationServerKey: keyBytes, userVisibleOnly: true } };
  const remembered = { id: 'here', endpoint: 'https://push.example/1' };
  assert.ok(isCurrent(subscription, remembered, info(KEY, 'here')));
  assert.ok(!isCurrent(null, remembered, info(KEY, 'here')));
  assert.ok(!isCurrent({ ...subscription, endpoint: 'https://push.example/2' }, remembered, info(KEY, 'here')));
  assert.ok(!isCurrent(subscription, remembered, info('BP-_AQIE', 'here')));
  assert.ok(!isCurrent(subscription, remembered, info(KEY, 'phone')));
});

test('who turned notifications on is remembered for each user, and unreadable memory counts as none', () => {
  remember('ada', { id: '1', endpoint: 'https://push.example/1' });
  assert.deepEqual(readRemembered('ada'), { id: '1', endpoint: 'https://push.example/1' });
  assert.equal(readRemembered('eve'), null);
  for (const odd of ['{', 'null', '[]', '{"id":"1"}', '{"id":1,"endpoint":"x"}']) {
    localStorage.setItem('toolyard.push/ada', odd);
    assert.equal(readRemembered('ada'), null, odd);
  }
  forget('ada');
  assert.equal(localStorage.getItem('toolyard.push/ada'), null);
});

test('an operator who acts for a user is not that user', () => {
  assert.ok(isActing({ name: 'boss', userId: 'ada' }));
  for (const userId of ['boss', null, undefined]) assert.ok(!isActing({ name: 'boss', ...(userId !== undefined && { userId }) }));
});

test('only pages of this console are opened for a notification', () => {
  const open = (url: unknown, type = 'open-page') => requestedPath({ type, url }, 'https://yard.test');
  assert.equal(open('https://yard.test/console/approvals/1?a=b#c'), '/console/approvals/1?a=b#c');
  for (const odd of [
    'https://evil.test/console/',
    'https://yard.test/api/me',
    'https://yard.test/console/../api',
    '/console/',
    5,
    undefined,
  ]) {
    assert.equal(open(odd), undefined, String(odd));
  }
  assert.equal(open('https://yard.test/console/', 'other'), undefined);
  for (const odd of [null, undefined, 'text', 5]) assert.equal(requestedPath(odd, 'https://yard.test'), undefined);
});

test('a test says how many browsers it reached', () => {
  assert.equal(testText({ sent: 2, failed: 0 }), 'Test notification sent to 2 browsers.');
  assert.equal(testText({ sent: 1, failed: 1 }), 'Test notification sent to 1 browser. 1 browser could not be reached.');
  assert.equal(testText({ sent: 0, failed: 1 }), '1 browser could not be reached.');
  assert.equal(testText({ sent: 0, failed: 0 }), 'No browser is subscribed.');
});
