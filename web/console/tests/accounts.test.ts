import { toldByOtherTab } from './browser-parts';
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { fetchRaw } from '../src/api/client';
import { ApiError, isSignedOut } from '../src/api/error';
import { asUser, cookieSession, credentials, endedKind, hasLapsed, ownSession, renew, session, signIn, signOut } from '../src/api/session';
import { leave } from '../src/api/sign-out';
import { profileChange } from '../src/pages/people/profile-change';
import { passwordProblem } from '../src/pages/settings/account/password-rules';
import { resumeSession } from '../src/shell/resume-session';
import { problemText, signInErrorText } from '../src/sign-in/messages';
import { issuerUrl, rememberReturn, returnPath, safeReturn } from '../src/sign-in/return-path';

const KEY = 'toolyard.session';
let asked: string[] = [];
/** Whether the server accepts the cookie, and whether it can be reached. */
let isGood = true;
let isReachable = true;

globalThis.fetch = async (input, init) => {
  const request = input instanceof Request ? input : new Request(new URL(String(input), 'http://console.test'), init);
  if (!isReachable) throw new TypeError('Failed to fetch');
  const headers = ['Authorization', 'X-User-Id'].map((name) => request.headers.get(name) ?? '-').join(' ');
  asked.push(`${request.method} ${new URL(request.url).pathname} ${headers}`);
  if (request.url.endsWith('/api/sign-out')) return new Response(null, { status: 204 });
  return isGood ? Response.json({}) : Response.json({ error: { code: 'UNAUTHORIZED', message: 'no' } }, { status: 401 });
};

const turns = async () => {
  for (let count = 0; count < 20; count += 1) await new Promise((resolve) => setImmediate(resolve));
};
const ADA = { kind: 'cookie', user: 'ada', at: 1 } as const;
const EVE = { kind: 'cookie', user: 'eve', at: 2 } as const;

beforeEach(() => {
  [isGood, isReachable] = [true, true];
  signOut('announced');
  signIn(ADA, true);
  asked = [];
});

test('a cookie session stores no secret and sends no credential', async () => {
  assert.deepEqual(credentials(), {});
  assert.deepEqual(JSON.parse(localStorage.getItem(KEY) ?? ''), ADA);
  await fetchRaw('/api/tools');
  signIn({ ...ADA, actingFor: 'eve' }, true);
  await fetchRaw('/api/tools');
  assert.deepEqual(asked, ['GET /api/tools - -', 'GET /api/tools - eve']);
  assert.deepEqual(ownSession({ ...ADA, actingFor: 'eve' }), ADA);
});

test('a request whose cookie ended waits for the next sign-in', async () => {
  isGood = false;
  const save = fetchRaw('/api/apps', { method: 'POST' });
  await turns();
  assert.ok(hasLapsed());
  asked = [];
  isGood = true;
  const next = cookieSession('ada');
  renew(next, true);
  await save;
  assert.deepEqual(asked, ['POST /api/apps - -']);
  assert.equal(session(), next);
});

test('a sign-out ends the session on the server first', async () => {
  await leave();
  assert.deepEqual(asked, ['POST /api/sign-out - -']);
  assert.equal(session(), null);
  assert.equal(localStorage.getItem(KEY), null);
});

test('without the server the cookie cannot be removed, and the user stays signed in', async () => {
  isReachable = false;
  await assert.rejects(leave(), TypeError);
  assert.equal(session(), ADA);
});

test('a token is forgotten; a cookie that other tabs use ends with it', async () => {
  signIn({ kind: 'token', token: 'one' }, false);
  await leave();
  assert.deepEqual(asked, []);
  signIn({ kind: 'token', token: 'one' }, false);
  localStorage.setItem(KEY, JSON.stringify(ADA));
  await leave();
  assert.deepEqual(asked, ['POST /api/sign-out - -']);
});

test('tabs follow the cookie to another user, unless they wait for their own', async () => {
  localStorage.setItem(KEY, JSON.stringify(EVE));
  toldByOtherTab();
  assert.deepEqual(session(), EVE);
  isGood = false;
  const save = fetchRaw('/api/apps');
  await turns();
  localStorage.setItem(KEY, JSON.stringify(ADA));
  toldByOtherTab();
  assert.deepEqual(session(), EVE);
  assert.ok(hasLapsed());
  signOut();
  await assert.rejects(save, isSignedOut);
});

test('the reason for the sign-in page is known', () => {
  signOut('ended');
  assert.equal(endedKind(), 'cookie');
  signIn(ADA, true);
  assert.equal(endedKind(), null);
});

test('a lapsed page continues for the same user, also with a cookie instead of a token', async () => {
  const ask = async () => ({ name: 'ada', userId: 'ada' });
  const was = { name: 'ada', userId: 'ada' };
  assert.deepEqual(await resumeSession(ADA, { kind: 'token', token: 'old' }, was, ask), { session: ADA, isSame: true });
  assert.deepEqual(await resumeSession(EVE, ADA, was, async () => ({ name: 'eve', userId: 'eve' })), { session: EVE, isSame: false });
});

test('only pages of the console are returned to', () => {
  Object.assign(window.location, { pathname: '/console/authorize', search: '?request=a%20b' });
  assert.equal(returnPath(undefined), '/console/authorize?request=a%20b');
  Object.assign(window.location, { pathname: '/console/sign-in', search: '?problem=denied' });
  assert.equal(returnPath(undefined), '/console/');
  rememberReturn('/console/apps');
  assert.equal(returnPath(undefined), '/console/apps');
  assert.equal(returnPath('/console/library?q=x'), '/console/library?q=x');
  for (const bad of ['https://evil.test/', '//evil.test/console/', '/console/../oauth', '/api/me', '/console/sign-in?return=x', '', null])
    assert.equal(safeReturn(bad), undefined, String(bad));
  assert.equal(issuerUrl('a b', '/console/authorize?request=1&x=2'), '/sign-in/a%20b?return=%2Fconsole%2Fauthorize%3Frequest%3D1%26x%3D2');
});

test('every failure says what to do', () => {
  const failed = new ApiError('no', 401, 'SIGN_IN_FAILED');
  assert.match(signInErrorText(failed, 'password'), /sign-in link/);
  assert.match(signInErrorText(failed, 'link'), /new one/);
  assert.equal(
    signInErrorText(new ApiError('no', 429, 'RATE_LIMITED', [], 30_000), 'password'),
    'Too many attempts. Wait 30 seconds, then try again.',
  );
  assert.equal(
    signInErrorText(new ApiError('no', 429, 'RATE_LIMITED', [], 200_000), 'password'),
    'Too many attempts. Wait 4 minutes, then try again.',
  );
  assert.match(signInErrorText(new DOMException('x', 'NotAllowedError'), 'passkey'), /Try again/);
  for (const word of ['denied', 'not-allowed', 'disabled', 'expired', 'taken', 'unreachable', 'failed', 'constructor'])
    assert.match(problemText(word), /\.$/, word);
});

test('passwords are checked before they are sent', () => {
  assert.match(passwordProblem('short', 'ada') ?? '', /at least 12/);
  assert.match(passwordProblem('x'.repeat(257), 'ada') ?? '', /at most 256/);
  assert.match(passwordProblem('Ada@example.com', 'ada@example.com') ?? '', /user ID/);
  assert.equal(passwordProblem('🐎'.repeat(12), 'ada'), undefined);
});

test('only what an operator changed is sent', () => {
  const person = { name: 'Ada', role: 'user', groups: ['a', 'b'] } as const;
  const draft = { name: 'Ada', email: '', role: 'user', groups: 'a, b' } as const;
  const changed = (part: object) => profileChange({ ...person, groups: [...person.groups] }, { ...draft, ...part });
  assert.deepEqual(changed({}), {});
  assert.deepEqual(changed({ name: ' ', email: 'ada@example.com' }), { name: null, email: 'ada@example.com' });
  assert.deepEqual(changed({ role: 'operator', groups: 'b,,b , c' }), { role: 'operator', groups: ['b', 'c'] });
  assert.deepEqual(asUser('ö'), { 'X-User-Id': 'Ã¶' });
});
