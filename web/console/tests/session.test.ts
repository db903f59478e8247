import { toldByOtherTab } from './browser-parts';
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { api, responseData, fetchRaw } from '../src/api/client';
import { isSignedOut, ApiError } from '../src/api/error';
import { credentials, endedKind, hasLapsed, onLapse, renew, session, signIn, signOut, type Session } from '../src/api/session';
import { resumeSession } from '../src/shell/resume-session';

/** Tokens that the server believes, and what it was asked, with which one. */
const good = new Set<string>();
let asked: string[] = [];
/** What it says to users' routes although the token is good. */
let noUser = false;

globalThis.fetch = async (input, init) => {
  const request = input instanceof Request ? input : new Request(new URL(String(input), 'http://console.test'), init);
  const token = (request.headers.get('Authorization') ?? '').replace('Bearer ', '');
  const path = new URL(request.url).pathname;
  asked.push(`${request.method} ${path} ${token || '-'}${request.method === 'POST' ? ` ${await request.text()}` : ''}`);
  if (!good.has(token) || (noUser && path !== '/api/me'))
    return Response.json({ error: { code: 'UNAUTHORIZED', message: 'no' } }, { status: 401 });
  return Response.json({ asked: path });
};

const token = (token: string, actingFor?: string): Session => ({ kind: 'token', token, ...(actingFor !== undefined && { actingFor }) });
const turns = async () => {
  for (let count = 0; count < 20; count += 1) await new Promise((resolve) => setImmediate(resolve));
};

beforeEach(() => {
  good.clear();
  noUser = false;
  signIn(token('one'), false);
  asked = [];
});

test('a request whose token expired waits and is sent with the next token', async () => {
  const save = fetchRaw('/api/apps', { method: 'POST', body: 'typed' });
  const list = responseData(api.GET('/api/tools'));
  await turns();
  assert.ok(hasLapsed());
  // One look at who one is for all that was refused; then nothing more.
  assert.deepEqual(asked.sort(), ['GET /api/me one', 'GET /api/tools one', 'POST /api/apps one typed']);
  const later = fetchRaw('/api/users');
  await turns();
  assert.equal(asked.length, 3);
  assert.deepEqual(credentials(), {});

  good.add('two');
  renew(token('two'), false);
  assert.deepEqual(await (await save).json(), { asked: '/api/apps' });
  assert.deepEqual(await list, { asked: '/api/tools' });
  await later;
  assert.deepEqual(asked.slice(3).sort(), ['GET /api/tools two', 'GET /api/users two', 'POST /api/apps two typed']);
  assert.equal(sessionStorage.getItem('toolyard.session'), JSON.stringify(token('two')));
});

test('waiting requests are not sent for another user or after a sign-out', async () => {
  for (const leave of [() => signIn(token('other'), false), () => signOut()]) {
    signIn(token('one'), false);
    const save = fetchRaw('/api/apps', { method: 'POST', body: 'typed' });
    await turns();
    asked = [];
    good.add('other');
    leave();
    await assert.rejects(save, isSignedOut);
    assert.deepEqual(asked, []);
    assert.ok(!hasLapsed());
  }
});

test('an aborted request does not wait', async () => {
  const stop = new AbortController();
  const save = fetchRaw('/api/apps', { signal: stop.signal });
  await turns();
  stop.abort();
  await assert.rejects(save, { name: 'AbortError' });
  good.add('two');
  renew(token('two'), false);
  await turns();
  assert.ok(!asked.some((one) => one.includes('two')));
});

test('a 401 that is not about the token is an error, and the session continues', async () => {
  good.add('one');
  noUser = true;
  await assert.rejects(fetchRaw('/api/tools'), (error) => error instanceof ApiError && error.status === 401);
  assert.ok(!hasLapsed());
  assert.deepEqual(session(), token('one'));
});

test('a response after a sign-out is dropped', async () => {
  good.add('one');
  const list = fetchRaw('/api/tools');
  signOut();
  await assert.rejects(list, isSignedOut);
});

test('an expired token does not affect the other tabs; a sign-out does', async () => {
  signIn(token('one'), true);
  const heard: string[] = [];
  const stop = onLapse((now) => heard.push(now));
  const save = fetchRaw('/api/apps');
  await turns();
  assert.notEqual(localStorage.getItem('toolyard.session'), null);
  // Another tab found the same, with no page open.
  toldByOtherTab();
  assert.ok(hasLapsed());
  localStorage.removeItem('toolyard.session');
  toldByOtherTab();
  assert.equal(session(), null);
  assert.equal(endedKind(), null);
  assert.deepEqual(heard, ['lapsed', 'over']);
  await assert.rejects(save, isSignedOut);
  stop();

  signIn(token('one'), true);
  signOut('ended');
  assert.notEqual(localStorage.getItem('toolyard.session'), null);
  assert.equal(endedKind(), 'token');
  signOut();
  assert.equal(localStorage.getItem('toolyard.session'), null);
});

test('a token for this tab only does not change the other tabs', async () => {
  signIn(token('one'), true);
  const list = fetchRaw('/api/apps');
  await turns();
  good.add('two');
  renew(token('two'), false);
  await list;
  assert.equal(localStorage.getItem('toolyard.session'), JSON.stringify(token('one')));
});

test('a new sign-in is recognized as the same or another user', async () => {
  const people: Record<string, { name: string; operates?: boolean }> = {
    ada: { name: 'ada' },
    boss: { name: 'boss', operates: true },
    carol: { name: 'carol', operates: true },
    fired: { name: 'boss' },
  };
  const ask = async (next: Session) => {
    assert.equal(next.kind, 'token');
    const { token: which, actingFor } = next as Session & { kind: 'token' };
    const who = people[which];
    if (who === undefined) throw new ApiError('no', 401, 'UNAUTHORIZED');
    if (actingFor !== undefined && actingFor !== who.name && who.operates !== true) throw new ApiError('no', 403, 'FORBIDDEN');
    return { name: who.name, userId: actingFor ?? who.name };
  };
  const ada = { name: 'ada', userId: 'ada' };
  assert.deepEqual(await resumeSession(token('ada'), token('old'), ada, ask), { session: token('ada'), isSame: true });
  assert.deepEqual(await resumeSession(token('boss'), token('old'), ada, ask), { session: token('boss'), isSame: false });
  await assert.rejects(resumeSession(token('none'), token('old'), ada, ask), { status: 401 });
  const boss = { name: 'boss', userId: 'ada' };
  assert.deepEqual(await resumeSession(token('boss'), token('old', 'ada'), boss, ask), { session: token('boss', 'ada'), isSame: true });
  // Another operator, the user themselves, and one who is no operator any more: what was typed is not theirs.
  for (const other of ['carol', 'ada', 'fired'])
    assert.deepEqual(await resumeSession(token(other), token('old', 'ada'), boss, ask), { session: token(other), isSame: false }, other);
  await assert.rejects(resumeSession(token('none'), token('old', 'ada'), boss, ask), { status: 401 });
});
