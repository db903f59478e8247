import './browser-parts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UIMessageChunk } from 'ai';
import { ApiError, signedOutError } from '../src/api/error';
import type { UpstreamAccess } from '../src/api/upstream-access';
import { pause, retryDelay } from '../src/api/watch';
import { CallNotes } from '../src/pages/chat/notes';
import { isOwnUrl, signInRequest } from '../src/pages/chat/sign-in-data';
import { isWebUrl, pageState, pollAccess } from '../src/pages/upstream-sign-in/state';
import { focusedReason } from '../src/shell/focused-frame';

const ORIGIN = 'https://tools.example';
const PAGE = `${ORIGIN}/console/upstreams/github/sign-in`;
const access = (authorized: boolean): UpstreamAccess => ({
  packageName: 'mcp.github',
  name: 'GitHub',
  host: 'api.githubcopilot.com',
  authorized,
});
const failure = (status: number, retryAfterMs?: number) => new ApiError('no', status, 'CODE', [], retryAfterMs);

test('the page has the frame without navigation, for every upstream', () => {
  for (const path of ['/upstreams/github/sign-in', '/upstreams/a.b-c/sign-in']) assert.match(focusedReason(path) ?? '', /MCP server/);
  for (const path of ['/authorize', '/device']) assert.match(focusedReason(path) ?? '', /Sign in to decide/);
  for (const path of ['/', '/chat', '/upstreams/sign-in', '/upstreams//sign-in', '/upstreams/a/b/sign-in', '/upstreams/a/sign-in/x'])
    assert.equal(focusedReason(path), undefined, path);
});

test('what the page shows', () => {
  assert.equal(pageState(undefined, null), 'loading');
  assert.equal(pageState(access(false), null), 'needed');
  assert.equal(pageState(access(true), null), 'done');
  assert.equal(pageState(undefined, failure(404)), 'unknown');
  assert.equal(pageState(undefined, failure(400)), 'not-oauth');
  for (const error of [failure(500), new TypeError('Failed to fetch')]) {
    assert.equal(pageState(undefined, error), 'failed');
    assert.equal(pageState(access(false), error), 'needed', 'an error does not remove what is shown');
    assert.equal(pageState(access(true), error), 'done');
  }
  assert.equal(pageState(access(true), failure(404)), 'unknown', 'the upstream was removed meanwhile');
  assert.equal(pageState(access(false), failure(400)), 'not-oauth');
});

test('only web pages are opened to sign in', () => {
  for (const url of ['https://github.com/login?x=1', 'http://127.0.0.1:8080/authorize']) assert.ok(isWebUrl(url), url);
  for (const url of ['javascript:alert(1)', 'data:text/html,x', 'vscode://x', '/authorize', '']) assert.ok(!isWebUrl(url), url);
});

/** Answers in this order, and notes the pauses. After the last answer the page is closed. */
async function polled(...answers: (UpstreamAccess | Error)[]) {
  const stop = new AbortController();
  const [heard, pauses]: [boolean[], number[]] = [[], []];
  let [asked, rejected] = [0, 0];
  const ask = async () => {
    const answer = answers[asked];
    asked += 1;
    if (answer === undefined) stop.abort();
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error('aborted');
    return answer;
  };
  const sleep = async (ms: number) => void pauses.push(ms);
  await pollAccess({ ask, sleep, onAnswer: ({ authorized }) => heard.push(authorized), onRejected: () => (rejected += 1) }, stop.signal);
  return { asked, heard, pauses, rejected };
}

test('the page asks until the user has access', async () => {
  const { asked, heard, pauses, rejected } = await polled(access(false), access(false), access(true), access(true));
  assert.deepEqual([asked, heard, rejected], [3, [false, false, true], 0]);
  // The server answered at once instead of holding the request back.
  assert.equal(pauses.length, 2);
  assert.ok(pauses.every((ms) => ms > 1_000 && ms <= 2_000));
});

test('after errors it waits longer each time, and an answer resets that', async () => {
  const lost = new TypeError('Failed to fetch');
  const { pauses, heard } = await polled(lost, failure(503), lost, access(false), lost, failure(429, 60_000), access(true));
  assert.deepEqual(heard, [false, true]);
  assert.deepEqual(
    pauses.filter((_, place) => place !== 3),
    [retryDelay(0), retryDelay(1), retryDelay(2), retryDelay(0), 60_000],
  );
  assert.ok(retryDelay(0) < retryDelay(1) && retryDelay(1) < retryDelay(2));
  assert.equal(retryDelay(100), retryDelay(101));
  assert.equal(retryDelay(0, failure(429, 86_400_000)), 300_000, 'a server cannot silence the page for a day');
});

test('it stops when the upstream is gone, the user signs out or the page is closed', async () => {
  for (const status of [400, 401, 403, 404]) {
    const { asked, heard, rejected } = await polled(access(false), failure(status), access(true));
    assert.deepEqual([asked, heard, rejected], [2, [false], 1], String(status));
  }
  assert.deepEqual(await polled(signedOutError(), access(true)), { asked: 1, heard: [], pauses: [], rejected: 0 });
  assert.deepEqual(await polled(), { asked: 1, heard: [], pauses: [], rejected: 0 });
  const stop = new AbortController();
  const late = pollAccess(
    {
      ask: async () => {
        stop.abort();
        return access(true);
      },
      onAnswer: () => assert.fail('it was closed'),
      onRejected: () => assert.fail('it was closed'),
    },
    stop.signal,
  );
  await late;
});

test('a pause ends when the page is closed', async () => {
  const stop = new AbortController();
  const paused = pause(3_600_000, stop.signal);
  stop.abort();
  await paused;
});

test('a link is offered only to pages of this server', () => {
  assert.ok(isOwnUrl(PAGE, ORIGIN));
  assert.ok(isOwnUrl('http://127.0.0.1:8787/console/upstreams/a/sign-in', 'http://127.0.0.1:8787'));
  for (const url of [
    'http://tools.example/console/upstreams/github/sign-in',
    'https://tools.example:8443/console/upstreams/github/sign-in',
    'https://tools.example.evil.example/',
    'https://evil.example/https://tools.example/',
    'https://tools.example@evil.example/',
    'https://someone:secret@tools.example/',
    'javascript:alert(1)',
    'data:text/html,x',
    `blob:${PAGE}`,
    '//tools.example/console/',
    '/console/upstreams/github/sign-in',
    '',
  ])
    assert.ok(!isOwnUrl(url, ORIGIN), url);
});

test('the sign-in that a call waits for', () => {
  const data = { toolCallId: 'c1', packageName: 'mcp.github', name: 'GitHub', url: PAGE };
  assert.deepEqual(signInRequest(data, ORIGIN), { toolCallId: 'c1', name: 'GitHub', url: PAGE });
  assert.deepEqual(signInRequest({ ...data, url: 'https://evil.example/' }, ORIGIN), { toolCallId: 'c1', name: 'GitHub' });
  assert.equal(signInRequest({ ...data, name: ' \u202e' }, ORIGIN).name, 'mcp.github');
  assert.equal(signInRequest({ ...data, name: `Git\n\u202eHub${'x'.repeat(500)}` }, ORIGIN).name.length, 61);
  // The origin of the console itself.
  assert.equal(signInRequest({ ...data, url: 'http://console.test/console/' }).url, 'http://console.test/console/');
});

test('a note about a sign-in goes when the call ends or begins again', async () => {
  const notes = new CallNotes({});
  let told = 0;
  const stop = notes.subscribe(() => (told += 1));
  const request = (toolCallId: string) => ({ toolCallId, name: 'GitHub', url: PAGE });
  const send = async (...chunks: unknown[]) => {
    const stream = new ReadableStream<UIMessageChunk>({
      start(out) {
        for (const chunk of chunks) out.enqueue(chunk as UIMessageChunk);
        out.close();
      },
    });
    await notes.watch(stream).pipeTo(new WritableStream());
  };
  const waiting = () => [...notes.signIns().keys()];

  for (const id of ['a', 'b', 'c']) notes.needSignIn(request(id));
  assert.deepEqual([waiting(), told], [['a', 'b', 'c'], 3]);
  const before = notes.signIns();
  notes.hear({ toolCallId: 'a', progress: 1 });
  assert.equal(notes.signIns(), before, 'nothing is drawn again for other notes');
  await send({ type: 'tool-output-available', toolCallId: 'a', output: 1 });
  assert.deepEqual(waiting(), ['b', 'c']);
  await send({ type: 'tool-output-error', toolCallId: 'b', errorText: 'no' });
  assert.deepEqual(waiting(), ['c']);
  // Some models use the ids of calls again.
  await send({ type: 'tool-input-available', toolCallId: 'c', toolName: 't', input: {} });
  assert.deepEqual(waiting(), []);
  told = 0;
  await send({ type: 'tool-output-available', toolCallId: 'never asked', output: 1 });
  assert.equal(told, 0);
  stop();
});
