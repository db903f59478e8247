// Web push without the push service of a vendor: one on this machine that decrypts what the server sends, and pages that subscribe there.
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { becomes, until } from './browser.mjs';

/** The keys of all browsers. */
const receiver = createECDH('prime256v1');
const receiverKey = receiver.generateKeys();
const auth = randomBytes(16);
const KEYS = { p256dh: receiverKey.toString('base64url'), auth: auth.toString('base64url') };

/** RFC 8291: what a browser does before its service worker gets the message. */
function decrypt(body) {
  const [salt, size] = [body.subarray(0, 16), body[20]];
  const [senderKey, sealed] = [body.subarray(21, 21 + size), body.subarray(21 + size)];
  const derive = (secret, from, info, bytes) => Buffer.from(hkdfSync('sha256', secret, from, info, bytes));
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), receiverKey, senderKey]);
  const secret = derive(receiver.computeSecret(senderKey), auth, info, 32);
  const key = derive(secret, salt, 'Content-Encoding: aes128gcm\0', 16);
  const decipher = createDecipheriv('aes-128-gcm', key, derive(secret, salt, 'Content-Encoding: nonce\0', 12));
  decipher.setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  return padded.subarray(0, padded.lastIndexOf(2)).toString();
}

/** `received`: each message as JSON text, in the order of arrival. */
export async function startPushService() {
  const received = [];
  const server = createServer(async (request, response) => {
    const pieces = await Array.fromAsync(request);
    received.push({ path: request.url, text: decrypt(Buffer.concat(pieces)) });
    response.writeHead(201).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${server.address().port}`;
  /** The next message of a type that the test has not taken yet. */
  const take = async (type) => {
    const isNext = ({ text }) => JSON.parse(text).type === type;
    await until(() => received.some(isNext));
    const [{ text }] = received.splice(received.findIndex(isNext), 1);
    return text;
  };
  return { host, url: `http://${host}/`, received, take, close: () => server.close() };
}

/** Runs in a page: the browser subscribes at the push service of the test. Like a real subscription, it survives a reload. */
function subscribeThere({ url, keys }) {
  const KEPT = 'test.push';
  const current = () => {
    const kept = JSON.parse(localStorage.getItem(KEPT));
    if (kept === null) return null;
    return {
      endpoint: kept.endpoint,
      options: { userVisibleOnly: true, applicationServerKey: Uint8Array.from(kept.key).buffer },
      toJSON: () => ({ endpoint: kept.endpoint, expirationTime: null, keys }),
      unsubscribe: async () => {
        localStorage.removeItem(KEPT);
        return true;
      },
    };
  };
  PushManager.prototype.getSubscription = async () => current();
  PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
    if (!userVisibleOnly) throw new TypeError('silent messages are not allowed');
    localStorage.setItem(KEPT, JSON.stringify({ endpoint: url + crypto.randomUUID(), key: [...applicationServerKey] }));
    return current();
  };
}

/** The settings of notifications, in a browser that subscribes at `service`. `prepare` runs in each page before the console. */
export async function openSettings(it, service, more = {}, prepare = () => {}) {
  const page = await it.page('/settings?tab=about', { permissions: ['notifications'], ...more });
  await page.context().addInitScript(subscribeThere, { url: service.url, keys: KEYS });
  await page.context().addInitScript(prepare);
  await page.goto(page.url().replace('about', 'notifications'));
  await page.getByRole('heading', { name: 'Notifications in this browser' }).waitFor();
  return page;
}

/** Gives a message to the service worker, as the browser does. */
export async function deliver(page, text) {
  const session = await page.context().newCDPSession(page);
  const registered = new Promise((resolve) =>
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: [one] }) => one && resolve(one)),
  );
  await session.send('ServiceWorker.enable');
  const { registrationId, scopeURL } = await registered;
  await session.send('ServiceWorker.deliverPushMessage', { origin: new URL(scopeURL).origin, registrationId, data: text });
  await session.detach();
}

/** Waits until exactly these notifications are on the screen. Of each the members are compared that are given. */
export async function shows(page, ...expected) {
  const members = [...new Set(expected.flatMap(Object.keys))];
  const read = async (names) => {
    const registration = await navigator.serviceWorker.getRegistration('/console/');
    const open = (await registration?.getNotifications()) ?? [];
    const value = (one, name) => (name === 'url' ? one.data?.url : one[name]);
    return open.map((one) => Object.fromEntries(names.map((name) => [name, value(one, name)])));
  };
  const byTag = (list) => list.sort((a, b) => String(a.tag).localeCompare(String(b.tag)));
  await becomes(async () => byTag(await page.evaluate(read, members)), byTag(expected));
}
