import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';

const source = readFileSync(new URL('../public/push-worker.js', import.meta.url), 'utf8');
const ORIGIN = 'https://yard.test';

interface Shown {
  title: string;
  tag: string;
  body: string;
  data: { url?: string };
  requireInteraction?: boolean;
  silent?: boolean;
  renotify?: boolean;
}

/** As much of a service worker as this one uses. `pages`: the URLs of open windows, most recently used first. */
function startWorker(...pages: string[]) {
  const listeners = new Map<string, (event: unknown) => void>();
  const shown = new Map<string, Shown>();
  const did: string[] = [];
  const windows = pages.map((url) => ({
    url,
    focus: async () => void did.push(`focus ${url}`),
    postMessage: ({ type, url: to }: { type: string; url: string }) => did.push(`${type} ${to} in ${url}`),
  }));
  const self = {
    location: { origin: ORIGIN },
    addEventListener: (type: string, listener: (event: unknown) => void) => listeners.set(type, listener),
    skipWaiting: async () => undefined,
    registration: {
      showNotification: async (title: string, options: Omit<Shown, 'title'>) => {
        did.push(`show ${options.tag}`);
        shown.set(options.tag, { title, ...options });
      },
      getNotifications: async ({ tag }: { tag: string }) =>
        [...shown.values()].filter((one) => one.tag === tag).map((one) => ({ ...one, close: () => shown.delete(tag) })),
    },
    clients: { matchAll: async () => windows, openWindow: async (url: string) => void did.push(`open ${url}`) },
  };
  runInNewContext(source, { self, URL });
  const dispatch = async (type: string, members: object) => {
    let work: Promise<unknown> | undefined;
    listeners.get(type)?.({ ...members, waitUntil: (promise: Promise<unknown>) => (work = promise) });
    assert.ok(work, 'the browser must wait until it is done');
    await work;
  };
  const push = (text: string | null) => dispatch('push', { data: text === null ? null : { json: () => JSON.parse(text) } });
  const click = (data: unknown) => dispatch('notificationclick', { notification: { data, close: () => did.push('close') } });
  return { push, click, shown, did };
}

const message = (type: string, more = {}) =>
  JSON.stringify({ type, id: '7', title: 'Delete a todo', body: 'To-do list', url: `${ORIGIN}/console/approvals/7`, ...more });

test('a question is shown until it is answered, and then quietly replaced', async () => {
  const { push, shown } = startWorker();
  await push(message('approval.requested'));
  const { title, body, data, requireInteraction, silent } = shown.get('approval-7') as Shown;
  assert.deepEqual([title, body, data.url], ['Delete a todo', 'To-do list', `${ORIGIN}/console/approvals/7`]);
  assert.deepEqual([requireInteraction, silent], [true, undefined]);
  await push(message('approval.answered', { body: 'Denied in the console' }));
  assert.equal(shown.size, 1);
  const answered = shown.get('approval-7') as Shown;
  assert.deepEqual([answered.body, answered.requireInteraction, answered.silent], ['Denied in the console', undefined, true]);
});

test('an answer to a question that is not on the screen is closed at once', async () => {
  const { push, shown, did } = startWorker();
  await push(message('approval.requested', { id: '8' }));
  await push(message('approval.answered'));
  assert.deepEqual([...shown.keys()], ['approval-8']);
  assert.deepEqual(did, ['show approval-8', 'show approval-7'], 'browsers require that something is shown');
});

test('a second test is noticed, and types of newer servers are shown', async () => {
  const { push, shown } = startWorker();
  await push(message('test', { id: undefined, title: 'It works' }));
  assert.deepEqual([shown.get('test')?.title, shown.get('test')?.renotify], ['It works', true]);
  await push(message('approval.reminded'));
  assert.equal(shown.get('approval.reminded')?.title, 'Delete a todo');
});

test('a message that cannot be read is shown as a question', async () => {
  for (const odd of [null, '{', 'null', '5', '[]', '{}', '{"type":"test"}', '{"type":5,"title":"x"}', '{"type":"test","title":""}']) {
    const { push, shown } = startWorker();
    await push(odd);
    assert.equal(shown.get('approval')?.title, 'A call waits for your approval', String(odd));
  }
  const { push, shown } = startWorker();
  await push('{"type":"approval.requested","title":"x","id":7,"body":{},"url":[]}');
  const { body, data } = shown.get('approval') as Shown;
  assert.deepEqual([body, data.url], ['', undefined]);
});

test('a click opens the page in a console that is open, or in a new window', async () => {
  const page = `${ORIGIN}/console/approvals/7`;
  const closed = startWorker();
  await closed.click({ url: page });
  assert.deepEqual(closed.did, ['close', `open ${page}`]);

  const elsewhere = startWorker(`${ORIGIN}/api/openapi.json`, `${ORIGIN}/console/chat`, `${ORIGIN}/console/tools`);
  await elsewhere.click({ url: page });
  assert.deepEqual(elsewhere.did, ['close', `open-page ${page} in ${ORIGIN}/console/chat`, `focus ${ORIGIN}/console/chat`]);

  const there = startWorker(`${ORIGIN}/console/chat`, page);
  await there.click({ url: page });
  assert.deepEqual(there.did, ['close', `focus ${page}`]);
});

test('a click leads only to pages of this console', async () => {
  const odd = [
    ...['https://evil.test/console/approvals/7', `${ORIGIN}/api/me`, `${ORIGIN}/console/../api/me`, '//evil.test/console/', 'javascript:0'],
    ...['http://', '', undefined, 5, null],
  ];
  for (const url of odd) {
    const { click, did } = startWorker();
    await click({ url });
    assert.deepEqual(did, ['close', `open ${ORIGIN}/console/approvals`], String(url));
  }
  const { click, did } = startWorker();
  await click(undefined);
  assert.deepEqual(did, ['close', `open ${ORIGIN}/console/approvals`]);
});
