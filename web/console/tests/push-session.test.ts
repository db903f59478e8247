import './browser-parts';
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { isSignedOut } from '../src/api/error';
import { meQuery, queryClient } from '../src/api/queries';
import { lapse, session, signIn, signOut, type Session } from '../src/api/session';
import { readRemembered, remember } from '../src/push/remembered';
import '../src/push/session';
import { restoreSubscription, turnOff, turnOn } from '../src/push/subscription';

const KEY = 'BP-_AQID';
const NEXT_KEY = 'BP-_AQIE';
const PUSH = { publicKey: KEY, subscriptions: [] };

/** The push service and the browser. */
let current: FakeSubscription | null = null;
let made = 0;
let permission: NotificationPermission = 'granted';
let isWorkerRegistered = false;
let notifications = 0;
let canUnsubscribe = true;

class FakeSubscription {
  readonly endpoint = `https://push.example/${++made}`;
  readonly options: { applicationServerKey: ArrayBuffer };
  constructor({ applicationServerKey }: { applicationServerKey: Uint8Array<ArrayBuffer> }) {
    this.options = { applicationServerKey: applicationServerKey.buffer };
  }
  toJSON = () => ({ endpoint: this.endpoint, keys: { p256dh: 'p', auth: 'a' } });
  unsubscribe = async () => {
    if (!canUnsubscribe) throw new Error('no network');
    if (current === this) current = null;
    return true;
  };
}

const registration = {
  active: {},
  installing: null,
  waiting: null,
  getNotifications: async () => Array.from({ length: notifications }, () => ({ close: () => (notifications -= 1) })),
  pushManager: {
    getSubscription: async () => current,
    subscribe: async (options: { applicationServerKey: Uint8Array<ArrayBuffer> }) => (current = new FakeSubscription(options)),
  },
  unregister: async () => {
    [current, isWorkerRegistered] = [null, false];
    return true;
  },
};
const part = (object: object, name: string, value: unknown) => Object.defineProperty(object, name, { value, configurable: true });
let last: Promise<unknown> = Promise.resolve();
part(globalThis, 'navigator', {
  userAgent: '',
  maxTouchPoints: 0,
  serviceWorker: {
    getRegistration: async () => (isWorkerRegistered ? registration : undefined),
    register: async () => {
      isWorkerRegistered = true;
      return registration;
    },
  },
  locks: {
    request: (_: string, work: () => Promise<unknown>) => {
      last = last.catch(() => undefined).then(work);
      return last;
    },
  },
});
const notification = {
  get permission() {
    return permission;
  },
  requestPermission: async () => permission,
};
part(globalThis, 'Notification', notification);
Object.assign(window, { Notification: notification, PushManager: {} });

/** The server: the users of the browsers it knows, and requests other than reading. */
let publicKey: string | null = KEY;
const browsers = new Map<string, string>();
let asked: string[] = [];
globalThis.fetch = async (input, init) => {
  const request = input instanceof Request ? input : new Request(new URL(String(input), 'http://console.test'), init);
  const user = request.headers.get('X-User-Id') ?? (request.headers.get('Authorization') ?? '').replace('Bearer ', '');
  const path = new URL(request.url).pathname;
  if (request.method === 'GET') {
    const own = [...browsers].filter(([, one]) => one === user);
    return Response.json({ publicKey, subscriptions: own.map(([id]) => ({ id, label: 'x', host: 'push.example', createdAt: '' })) });
  }
  const id = request.method === 'POST' ? ((await request.json()) as { endpoint: string }).endpoint.slice(-1) : path.slice(-1);
  asked.push(`${request.method} ${id} ${user}`);
  if (request.method === 'POST') browsers.set(id, user);
  else browsers.delete(id);
  return request.method === 'POST' ? Response.json({ id }, { status: 201 }) : new Response(null, { status: 204 });
};

const turns = async () => {
  for (let count = 0; count < 20; count += 1) await new Promise((resolve) => setImmediate(resolve));
};

function enter(user: string, session: Session = { kind: 'dev', user }) {
  signIn(session, false);
  queryClient.setQueryData(meQuery.queryKey, { name: user, userId: user } as never);
}

beforeEach(() => {
  localStorage.clear();
  browsers.clear();
  [current, made, permission, isWorkerRegistered, notifications, canUnsubscribe, publicKey] = [null, 0, 'granted', false, 0, true, KEY];
  enter('ada');
  asked = [];
});

test('notifications are turned on and off', async () => {
  assert.equal(await turnOn('ada', PUSH), true);
  assert.deepEqual([...browsers], [['1', 'ada']]);
  assert.equal(readRemembered('ada')?.endpoint, current?.endpoint);
  await turnOff('ada');
  assert.deepEqual([current, browsers.size, readRemembered('ada')], [null, 0, null]);
});

test('without the permission nothing is subscribed', async () => {
  permission = 'denied';
  assert.equal(await turnOn('ada', PUSH), false);
  assert.deepEqual([current, asked, readRemembered('ada')], [null, [], null]);
});

test('a sign-in meanwhile does not subscribe another user', async () => {
  const on = turnOn('ada', PUSH);
  enter('eve');
  await assert.rejects(on, isSignedOut);
  assert.deepEqual([current, asked], [null, []]);
});

test('a sign-out ends the notifications, and the next sign-in of the same user restores them', async () => {
  await turnOn('ada', PUSH);
  notifications = 2;
  signOut();
  await turns();
  assert.deepEqual(asked, ['POST 1 ada', 'DELETE 1 ada']);
  assert.deepEqual([current, notifications], [null, 0]);
  enter('eve');
  assert.equal(await restoreSubscription('eve'), false);
  enter('ada');
  assert.equal(await restoreSubscription('ada'), true);
  assert.deepEqual([...browsers], [['2', 'ada']]);
  assert.equal(await restoreSubscription('ada'), false, 'nothing to do');
});

test('after a sign-out nothing is shown, even if the push service cannot be reached', async () => {
  await turnOn('ada', PUSH);
  canUnsubscribe = false;
  signOut();
  await turns();
  assert.equal(isWorkerRegistered, false);
});

test('a lapsed token is not sent when the user signs out', async () => {
  enter('ada', { kind: 'token', token: 'ada' });
  await turnOn('ada', PUSH);
  const who = session();
  assert.ok(who);
  lapse(who);
  signOut();
  await turns();
  assert.deepEqual(asked, ['POST 1 ada']);
  assert.equal(current, null);
});

test('an operator who acts for a user signs out as themselves', async () => {
  enter('boss', { kind: 'token', token: 'boss' });
  await turnOn('boss', PUSH);
  signIn({ kind: 'token', token: 'boss', actingFor: 'ada' }, false);
  queryClient.setQueryData(meQuery.queryKey, { name: 'boss', userId: 'ada' } as never);
  signOut();
  await turns();
  assert.equal(asked.at(-1), 'DELETE 1 boss');
});

test('what another user left behind is dropped', async () => {
  await turnOn('ada', PUSH);
  // The tab was closed without a sign-out.
  enter('eve');
  assert.equal(await restoreSubscription('eve'), true);
  assert.equal(current, null);
  assert.notEqual(readRemembered('ada'), null);
});

test('a subscription is renewed if the server has another key', async () => {
  await turnOn('ada', PUSH);
  publicKey = NEXT_KEY;
  assert.equal(await restoreSubscription('ada'), true);
  assert.deepEqual([...browsers], [['2', 'ada']], 'the old one is removed');
});

test('a browser that the user removed elsewhere stays removed', async () => {
  await turnOn('ada', PUSH);
  browsers.clear();
  assert.equal(await restoreSubscription('ada'), true);
  assert.deepEqual([current, browsers.size, readRemembered('ada')], [null, 0, null]);
  assert.equal(await restoreSubscription('ada'), false);
});

test('nothing is subscribed again without the permission, without a key, or if the user did not turn it on here', async () => {
  assert.equal(await restoreSubscription('ada'), false);
  remember('ada', { id: '9', endpoint: 'https://push.example/9' });
  permission = 'default';
  assert.equal(await restoreSubscription('ada'), false);
  [permission, publicKey] = ['granted', null];
  assert.equal(await restoreSubscription('ada'), false);
  assert.deepEqual([current, asked], [null, []]);
});
