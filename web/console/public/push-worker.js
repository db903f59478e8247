// @ts-check
/**
 * The service worker of the console: shows the server's push messages as notifications, also while no page of the console is open. It
 * does nothing else: it handles no requests and caches nothing.
 *
 * A message is JSON: `type` (`approval.requested`, `approval.answered` or `test`), `id` of the approval, `title`, `body`, and `url` of the
 * page that a click opens.
 */

(() => {
  const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));

  const SCOPE = '/console/';
  const INBOX = `${worker.location.origin}${SCOPE}approvals`;
  /** For a message that cannot be read: browsers require that every message is shown. */
  const UNREADABLE = { type: 'approval.requested', title: 'A call waits for your approval', body: '' };
  const LOOK = { icon: `${SCOPE}icon-192.png`, badge: `${SCOPE}badge.png` };

  /** @typedef {{ type: string, id?: string, title: string, body: string, url?: string }} PushMessage */

  /**
   * @param {PushMessageData | null} data
   * @returns {PushMessage}
   */
  function readMessage(data) {
    try {
      const { type, id, title, body, url } = data?.json() ?? {};
      if (typeof type !== 'string' || typeof title !== 'string' || title === '') return UNREADABLE;
      return {
        type,
        title,
        body: typeof body === 'string' ? body : '',
        ...(typeof id === 'string' && { id }),
        ...(typeof url === 'string' && { url }),
      };
    } catch {
      return UNREADABLE;
    }
  }

  /** @param {PushMessage} message */
  async function notify({ type, id, title, body, url }) {
    const { registration } = worker;
    const tag = id === undefined ? 'approval' : `approval-${id}`;
    const options = { ...LOOK, body, data: { url } };
    if (type === 'approval.requested') return registration.showNotification(title, { ...options, tag, requireInteraction: true });
    if (type === 'approval.answered') {
      // An open question becomes its answer, without a sound. If none is open, there is nothing to correct; but browsers end the
      // subscription of a worker that shows nothing for a message, so the answer is shown and closed.
      const isOpen = (await registration.getNotifications({ tag })).length > 0;
      await registration.showNotification(title, { ...options, tag, silent: true });
      if (!isOpen) for (const shown of await registration.getNotifications({ tag })) shown.close();
      return;
    }
    // `test`, and types of newer servers. A second one replaces the first and is noticed.
    const again = /** @type {NotificationOptions} */ ({ ...options, tag: type, renotify: true });
    return registration.showNotification(title, again);
  }

  /**
   * The page that a notification leads to: only pages of this console.
   *
   * @param {unknown} url
   */
  function pageUrl(url) {
    try {
      const page = new URL(String(url), worker.location.origin);
      return page.origin === worker.location.origin && page.pathname.startsWith(SCOPE) ? page.href : INBOX;
    } catch {
      return INBOX;
    }
  }

  /**
   * An open console shows the page itself, so that it can ask about unsaved changes first.
   *
   * @param {string} url
   */
  async function openPage(url) {
    const windows = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
    const consoles = windows.filter((one) => new URL(one.url).pathname.startsWith(SCOPE));
    // The most recently used one comes first.
    const target = consoles.find((one) => one.url === url) ?? consoles[0];
    if (target === undefined) return worker.clients.openWindow(url);
    if (target.url !== url) target.postMessage({ type: 'open-page', url });
    return target.focus();
  }

  worker.addEventListener('install', () => void worker.skipWaiting());
  worker.addEventListener('push', (event) => event.waitUntil(notify(readMessage(event.data))));
  worker.addEventListener('notificationclick', (event) => {
    event.notification.close();
    event.waitUntil(openPage(pageUrl(event.notification.data?.url)));
  });
})();
