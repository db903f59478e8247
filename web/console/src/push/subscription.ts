/** The push subscription of this browser. All users of the browser share it, and it works while no page is open. */
import { queryOptions } from '@tanstack/react-query';
import { addSubscription, getPush, PUSH_KEY, removeSubscription } from '../api/push';
import { ApiError, signedOutError } from '../api/error';
import { sessionNumber } from '../api/session';
import { browserLabel, isAppleTouchDevice } from './browser-label';
import { forget, readRemembered, remember } from './remembered';
import { decodeKey } from './server-key';
import { isCurrent, isEnabled, isRemovedElsewhere, type BrowserState, type EnabledPush } from './state';

const SCOPE = '/console/';
const WORKER = `${SCOPE}push-worker.js`;
/** Other tabs wait meanwhile. */
const RESTORE_MS = 30_000;

/** In an insecure context, browsers have no service workers. */
const isSupported = () => 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;

/** Tabs change the subscription one after the other. */
const exclusively = <T>(work: () => Promise<T>): Promise<T> => navigator.locks.request('toolyard.push', work) as Promise<T>;

const registered = () => navigator.serviceWorker.getRegistration(SCOPE);

export const browserQuery = (user: string) =>
  queryOptions({ queryKey: [PUSH_KEY, 'browser', user], queryFn: () => readBrowser(user), staleTime: 0 });

async function readBrowser(user: string): Promise<BrowserState> {
  const isSecure = window.isSecureContext;
  const common = { isSecure, isAppleTouchDevice: isAppleTouchDevice(navigator) };
  if (!isSupported()) return { ...common, isSupported: false, permission: 'default', subscriptionId: null };
  const subscription = await (await registered())?.pushManager.getSubscription();
  const remembered = readRemembered(user);
  const isOwn = remembered !== null && remembered.endpoint === subscription?.endpoint;
  return { ...common, isSupported: true, permission: Notification.permission, subscriptionId: isOwn ? remembered.id : null };
}

/** Called when the user changes the permission in the settings of the browser. Returns a function that unsubscribes. */
export function onPermissionChange(listener: () => void): () => void {
  if (!isSupported() || !('permissions' in navigator)) return () => undefined;
  const stop = new AbortController();
  void navigator.permissions
    .query({ name: 'notifications' })
    .then((status) => status.addEventListener('change', listener, { signal: stop.signal }))
    .catch(() => undefined);
  return () => stop.abort();
}

/** Asks for the permission, so call it only when the user pressed a button. False if the user did not give it. */
export async function turnOn(user: string, push: EnabledPush): Promise<boolean> {
  const begun = sessionNumber();
  if ((await Notification.requestPermission()) !== 'granted') return false;
  await exclusively(() => subscribe(user, push, begun));
  return true;
}

/** `begun`: the session of the user. Another user may sign in meanwhile. */
async function subscribe(user: string, { publicKey, subscriptions }: EnabledPush, begun: number): Promise<void> {
  const registration = await navigator.serviceWorker.register(WORKER, { scope: SCOPE });
  await activation(registration);
  // A new one: the old one may belong to another key or user, or be one that the push service no longer accepts.
  await (await registration.pushManager.getSubscription())?.unsubscribe();
  const subscription = await newSubscription(registration.pushManager, publicKey);
  try {
    const { endpoint, keys } = subscription.toJSON();
    const [p256dh, auth] = [keys?.p256dh, keys?.auth];
    if (endpoint === undefined || p256dh === undefined || auth === undefined) throw new Error('The browser gave no keys.');
    if (sessionNumber() !== begun) throw signedOutError();
    const before = readRemembered(user);
    const { id } = await addSubscription({ endpoint, keys: { p256dh, auth }, label: browserLabel(navigator) });
    remember(user, { id, endpoint });
    const isLeft = before !== null && before.id !== id && subscriptions.some((one) => one.id === before.id);
    if (isLeft) await removeBrowser(before.id).catch(() => undefined);
  } catch (error) {
    await subscription.unsubscribe().catch(() => undefined);
    throw error;
  }
}

async function newSubscription(manager: PushManager, publicKey: string): Promise<PushSubscription> {
  try {
    return await manager.subscribe({ userVisibleOnly: true, applicationServerKey: decodeKey(publicKey) });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The push service of this browser could not be used: ${reason}`, { cause: error });
  }
}

/** Not `navigator.serviceWorker.ready`, which never resolves on a page outside of the scope, such as `/console`. */
function activation(registration: ServiceWorkerRegistration): Promise<void> {
  const worker = registration.installing ?? registration.waiting;
  if (registration.active !== null || worker === null) return Promise.resolve();
  return new Promise((resolve, reject) => {
    worker.addEventListener('statechange', () => {
      if (worker.state === 'activated') resolve();
      if (worker.state === 'redundant') reject(new Error('The service worker of the console could not be started.'));
    });
  });
}

/** Off for this user, also if the server cannot be reached: the push service then refuses its messages. */
export async function turnOff(user: string): Promise<void> {
  const remembered = readRemembered(user);
  forget(user);
  await dropSubscription();
  if (remembered !== null) await removeBrowser(remembered.id);
}

/** Removes a browser of the user at the server. */
export async function removeBrowser(id: string): Promise<void> {
  await removeSubscription(id).catch((error: unknown) => {
    // Another page was first.
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  });
}

/** Ends the subscription of this browser, for every user of it, and closes its notifications. */
export async function dropSubscription(): Promise<void> {
  if (isSupported()) await exclusively(unsubscribe);
}

async function unsubscribe(): Promise<void> {
  const registration = await registered();
  if (registration === undefined) return;
  for (const notification of await registration.getNotifications()) notification.close();
  const subscription = await registration.pushManager.getSubscription();
  if (subscription === null) return;
  const isDone = await subscription.unsubscribe().catch(() => false);
  // Without a worker nothing is shown.
  if (!isDone) await registration.unregister();
}

/**
 * After the user signed in: what they turned on in this browser is on again, and what another user turned on is off. True if anything
 * changed.
 */
export async function restoreSubscription(user: string): Promise<boolean> {
  if (!isSupported()) return false;
  const begun = sessionNumber();
  return exclusively(async () => {
    const subscription = (await (await registered())?.pushManager.getSubscription()) ?? null;
    const remembered = readRemembered(user);
    if (remembered === null) {
      if (subscription !== null) await unsubscribe();
      return subscription !== null;
    }
    if (Notification.permission !== 'granted') return false;
    const info = await getPush(AbortSignal.timeout(RESTORE_MS));
    if (!isEnabled(info) || isCurrent(subscription, remembered, info)) return false;
    if (isRemovedElsewhere(subscription, remembered, info)) {
      forget(user);
      await unsubscribe();
      return true;
    }
    await subscribe(user, info, begun);
    return true;
  });
}
