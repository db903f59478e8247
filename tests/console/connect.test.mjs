// A client connects: the page where the user decides, and the list of connected clients. The test answers for the authorization server.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { accessible, becomes, calm, disabled, focused, isOn, flip, launch, open, settled, toasted, until } from './browser.mjs';
import { at, consoleOf, enterToken, fitsPhone, gate, PHONE, platform } from './kit.mjs';
import { stage, USER } from './stage.mjs';

const OTHER = 'eve@example.com';
const BOSS = 'boss@example.com';
const REDIRECT = 'https://claude.ai/api/mcp/auth_callback?code=abc&state=s';
const TODO = { package: 'com.example.todo', name: 'To-do list' };
const NOTES = { package: 'com.example.notes', name: 'Notes' };
/** The browser leaves the console for the client. */
const LEFT = /asked https:\/\/claude\.ai/;

const INFO = {
  client: { id: 'https://claude.ai/oauth/client.json', name: 'Claude', kind: 'metadata-document', uri: 'https://claude.ai' },
  redirectHost: 'claude.ai',
  isLoopback: false,
  user: USER,
  scopes: ['tools:read', 'tools:write', 'tools:destructive', 'chat', 'openid', 'email', 'offline_access'],
  requestedApps: [],
  apps: [TODO, NOTES],
  days: 90,
  maxDays: 365,
  expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
};
const ERROR = { error: { code: 'INVALID_REQUEST', message: 'The request has expired.' } };

const title = (page, name) => page.getByRole('heading', { name, level: 1 });
const box = (page, name) => page.getByRole('checkbox', { name, exact: true });
const connect = (page) => page.getByRole('button', { name: 'Connect', exact: true });
const cancel = (page) => page.getByRole('button', { name: 'Cancel' });

/** Answers for the server and the client: `page.consent` is sent for the request, `page.outcome` after a decision; both are noted. */
async function answerFor(page, info = {}) {
  page.consent = { json: { ...INFO, ...info } };
  page.outcome = { json: { redirect: REDIRECT } };
  page.requests = [];
  page.decisions = [];
  await page.context().route('**/api/oauth/consent*', (route) => {
    const request = route.request();
    if (request.method() === 'GET') {
      page.requests.push(new URL(request.url()).searchParams.get('request'));
      return route.fulfill(page.consent);
    }
    page.decisions.push(request.postDataJSON());
    return route.fulfill(page.outcome);
  });
  await page.context().route('https://claude.ai/**', (route) => route.fulfill({ contentType: 'text/html', body: '<h1>The client</h1>' }));
}

describe('the consent page', () => {
  const it = platform();
  /** The page of a request, as the server's redirect opens it. */
  async function visit(info, more) {
    const page = await it.page('/settings?tab=about', { live: false, ...more });
    await answerFor(page, info);
    await page.goto(`${consoleOf(it)}/console/authorize?request=r1`);
    return page;
  }

  test('a narrowed selection is approved, and the browser returns to the client', async () => {
    const page = await visit();
    await title(page, 'Connect Claude?').waitFor();
    await page.getByText(`You are signed in as ${USER}`).waitFor();
    await page.locator('.redirect-host').getByText('claude.ai', { exact: true }).waitFor();
    await page.getByText('Identified by a document at claude.ai').waitFor();
    assert.equal(await page.getByRole('navigation').count(), 0);
    assert.equal(await page.getByText('A program on this computer').count(), 0);
    await accessible(page);

    for (const name of ['Read', 'Change', 'Delete', 'Chat', 'Know who you are']) await isOn(box(page, name), true);
    await flip(box(page, 'Read'), false);
    for (const name of ['Change', 'Delete']) await isOn(box(page, name), false);
    await flip(box(page, 'Delete'), true);
    for (const name of ['Read', 'Change']) await isOn(box(page, name), true);
    await flip(box(page, 'Change'), false);
    await isOn(box(page, 'Delete'), false);
    await isOn(box(page, 'Read'), true);
    await flip(box(page, 'Know who you are'), false);
    await flip(page.getByRole('radio', { name: 'Only these apps' }), true);
    await page.getByText('Select at least one app, or cancel.').waitFor();
    await disabled(connect(page));
    await flip(page.getByRole('checkbox', { name: /^Notes/ }), true);
    await page.getByLabel('How long').selectOption('30');
    await page.getByText(/^Stay connected until/).waitFor();
    await accessible(page);
    await connect(page).click();
    await title(page, 'The client').waitFor();
    assert.equal(page.url(), REDIRECT);
    assert.deepEqual(page.decisions, [
      { request: 'r1', approve: true, scopes: ['tools:read', 'chat', 'offline_access'], apps: [NOTES.package], days: 30 },
    ]);
    calm(page, LEFT);
    await page.context().close();
  });

  test('a decision is sent once, whatever is pressed meanwhile', async () => {
    const page = await visit();
    const held = gate();
    await page.route('**/api/oauth/consent', held.hold);
    await connect(page).dblclick();
    await held.reached;
    await page.getByRole('button', { name: 'Connecting …' }).click({ force: true });
    await cancel(page).click({ force: true });
    await accessible(page);
    held.open();
    await title(page, 'The client').waitFor();
    assert.deepEqual(
      page.decisions.map(({ approve, apps }) => [approve, apps]),
      [[true, null]],
    );
    calm(page, LEFT);
    await page.context().close();
  });

  test('a denial also returns to the client', async () => {
    const page = await visit();
    page.outcome = { json: { redirect: 'https://claude.ai/cb?error=access_denied' } };
    await cancel(page).click();
    await title(page, 'The client').waitFor();
    assert.deepEqual(page.decisions, [{ request: 'r1', approve: false }]);
    calm(page, LEFT);
    await page.context().close();
  });

  test('an expired request says what to do', async () => {
    const page = await visit();
    await title(page, 'Connect Claude?').waitFor();
    page.consent = { status: 400, json: ERROR };
    await page.reload();
    await title(page, 'This request cannot be continued').waitFor();
    await page.getByRole('alert').getByText('The request has expired.').waitFor();
    await page.getByText(/Start again in the client/).waitFor();
    assert.equal(await connect(page).count(), 0);
    await accessible(page);
    await page.goto(`${consoleOf(it)}/console/authorize`);
    await page.getByText('The address has no request of a client.').waitFor();
    calm(page, /400/);
    await page.context().close();
  });

  test('a request that expires while the page is open', async () => {
    const page = await visit({ expiresAt: new Date(Date.now() - 1_000).toISOString() });
    // The server still accepts it: this clock is wrong.
    await until(() => page.requests.length === 2);
    await flip(box(page, 'Chat'), false);
    page.consent = { status: 400, json: ERROR };
    page.outcome = { status: 400, json: ERROR };
    await connect(page).click();
    await title(page, 'This request cannot be continued').waitFor();
    await focused(title(page, 'This request cannot be continued'));
    calm(page, /400/);
    await page.context().close();
  });

  test('a decision that fails can be repeated, and the selection stays', async () => {
    const page = await visit();
    await flip(box(page, 'Chat'), false);
    page.outcome = { status: 503, json: { error: { code: 'UNAVAILABLE', message: 'The server is starting.' } } };
    await connect(page).click();
    await page.getByRole('alert').getByText('The server is starting.').waitFor();
    await focused(connect(page));
    await isOn(box(page, 'Chat'), false);
    page.outcome = { json: { redirect: 'javascript:alert(1)' } };
    await connect(page).click();
    await page.getByText(/an address that the console does not open/).waitFor();
    page.outcome = { json: { redirect: REDIRECT } };
    await connect(page).click();
    await title(page, 'The client').waitFor();
    assert.equal(page.decisions.length, 3);
    calm(page, LEFT, /503/);
    await page.context().close();
  });

  test('a program on this computer that registered itself: both warnings, and a link if nothing opens', async () => {
    const client = { id: 'dyn_1', name: 'Cursor\u202e', kind: 'dynamic' };
    const page = await visit({ client, redirectHost: 'localhost:33418', isLoopback: true, scopes: ['tools:read'] });
    await title(page, 'Connect Cursor?').waitFor();
    await page.getByText('A program on this computer receives access.').waitFor();
    await page.getByText('is not verified').waitFor();
    await page.getByText(/^Access ends on/).waitFor();
    assert.equal(await box(page, 'Delete').count(), 0);
    await accessible(page);
    page.outcome = { json: { redirect: 'cursor-test://anysphere/cb?code=abc' } };
    await connect(page).click();
    await focused(title(page, 'Returning to localhost:33418 …'));
    const link = page.getByRole('link', { name: 'continue to localhost:33418' });
    await becomes(() => link.getAttribute('href'), 'cursor-test://anysphere/cb?code=abc');
    await page.getByText('You can close this page').waitFor();
    await accessible(page);
    calm(page, /cursor-test/);
    await page.context().close();
  });

  test('a client that asks for certain apps gets no others', async () => {
    const page = await visit({ requestedApps: [TODO.package, 'com.example.gone'] });
    await page.getByText('The client asks only for these apps.').waitFor();
    await page.getByText('You do not have com.example.gone.').waitFor();
    assert.equal(await page.getByRole('radio').count(), 0);
    await becomes(() => page.getByRole('list', { name: 'Apps' }).getByRole('checkbox').count(), 1);
    await connect(page).click();
    await title(page, 'The client').waitFor();
    assert.deepEqual(page.decisions[0].apps, [TODO.package]);
    calm(page, LEFT);
    await page.context().close();
  });

  test('a click right after the page came to the front does not connect', async () => {
    const page = await visit();
    await connect(page).click({ trial: true });
    await connect(page).evaluate((button) => {
      window.dispatchEvent(new Event('focus'));
      button.click();
    });
    await flip(box(page, 'Chat'), false);
    await connect(page).click();
    await title(page, 'The client').waitFor();
    assert.deepEqual(
      page.decisions.map(({ scopes }) => scopes.includes('chat')),
      [false],
    );
    calm(page, LEFT);
    await page.context().close();
  });

  test('with the keyboard only', async () => {
    const apps = Array.from({ length: 30 }, (_, place) => ({ package: `com.example.app${place}`, name: `App ${place}` }));
    const page = await visit({ apps });
    await focused(title(page, 'Connect Claude?'));
    /** Presses Tab until the element has the focus. */
    const reach = (element) =>
      until(async () => {
        if ((await element.and(page.locator(':focus')).count()) > 0) return true;
        await page.keyboard.press('Tab');
        return false;
      });
    await reach(box(page, 'Delete'));
    await page.keyboard.press('Enter');
    await page.keyboard.press('Space');
    await isOn(box(page, 'Delete'), false);
    await reach(page.getByRole('radio', { name: /^All your apps/ }));
    await page.keyboard.press('ArrowDown');
    await isOn(page.getByRole('radio', { name: 'Only these apps' }), true);
    const search = page.getByRole('searchbox', { name: 'Search your apps' });
    await reach(search);
    await page.keyboard.type('app 29');
    await becomes(() => page.getByRole('list', { name: 'Apps' }).getByRole('checkbox').count(), 1);
    await page.keyboard.press('Enter');
    await reach(page.getByRole('checkbox', { name: /^App 29/ }));
    await page.keyboard.press('Space');
    await page.getByText('1 of 30 selected').waitFor();
    await reach(page.getByLabel('How long'));
    await page.keyboard.press('ArrowDown');
    await becomes(() => page.getByLabel('How long').inputValue(), '365');
    assert.deepEqual(page.decisions, []);
    await connect(page).click({ trial: true });
    await reach(connect(page));
    await page.keyboard.press('Enter');
    await title(page, 'The client').waitFor();
    const [{ scopes, apps: chosen, days }] = page.decisions;
    assert.deepEqual([chosen, days, scopes.includes('tools:destructive')], [['com.example.app29'], 365, false]);
    calm(page, LEFT);
    await page.context().close();
  });

  test('on a phone, with the dark theme and long texts', async () => {
    const apps = Array.from({ length: 30 }, (_, place) => ({
      package: `com.example.${'long'.repeat(12)}${place}`,
      name: `App ${'W'.repeat(50)} ${place}`,
    }));
    const long = `${'sub.'.repeat(20)}example.com`;
    const client = { id: `https://${long}/client.json`, name: 'W'.repeat(300), kind: 'metadata-document', uri: `https://${long}` };
    const user = `${'w'.repeat(60)}@example.com`;
    const page = await visit({ apps, client, redirectHost: long, isLoopback: true, user, scopes: [...INFO.scopes, 'account'] }, PHONE);
    await flip(page.getByRole('radio', { name: 'Only these apps' }), true);
    await fitsPhone(page);
    const height = () => page.getByRole('list', { name: 'Apps' }).evaluate((list) => list.clientHeight < 300);
    await becomes(height, true);
    await accessible(page);
    page.consent = { status: 400, json: ERROR };
    await page.reload();
    await title(page, 'This request cannot be continued').waitFor();
    await fitsPhone(page);
    await accessible(page);
    calm(page, /400/);
    await page.context().close();
  });
});

describe('with tokens', () => {
  let it;
  let browser;
  before(async () => {
    [it, browser] = await Promise.all([stage({ ...at, auth: 'token', settings: ['net.allow_loopback=true'] }), launch()]);
  });
  after(async () => {
    await browser?.close();
    await it?.close();
  });
  const tokenOf = (user) => it.api('POST', '/api/tokens', { name: 'test', user });
  const enter = (page, token) => enterToken(page.getByRole('dialog').or(page.locator('main.sign-in')), token);
  /** Opened without a session. The request has characters that must be encoded in a URL. */
  const REQUEST = 'a b+c/=&%';
  async function start() {
    const path = `/authorize?request=${new URLSearchParams([['', REQUEST]]).toString().slice(1)}`;
    const page = await open(browser, consoleOf(it), '/', { user: null, live: false });
    await answerFor(page);
    await page.goto(`${consoleOf(it)}/console${path}`);
    await page.getByText('A client asks for access to your tools. Sign in to decide.').waitFor();
    return { page, url: `${consoleOf(it)}/console${path}` };
  }

  test('the sign-in comes first and returns to the request, also for another account', async () => {
    const { page, url } = await start();
    await accessible(page);
    await enter(page, (await tokenOf(USER)).token);
    await page.getByText(`You are signed in as ${USER}`).waitFor();
    assert.equal(page.url(), url);
    assert.deepEqual(page.requests, [REQUEST]);
    await flip(box(page, 'Chat'), false);
    page.consent = { json: { ...INFO, user: OTHER } };
    await page.getByRole('button', { name: 'Use another account' }).click();
    await enter(page, (await tokenOf(OTHER)).token);
    await page.getByText(`You are signed in as ${OTHER}`).waitFor();
    // What the previous user selected is gone.
    await isOn(box(page, 'Chat'), true);
    assert.equal(page.url(), url);
    await connect(page).click();
    await title(page, 'The client').waitFor();
    assert.deepEqual(
      page.decisions.map(({ request }) => request),
      [REQUEST],
    );
    calm(page, LEFT, /401/);
    await page.context().close();
  });

  test('a token that was revoked meanwhile: nothing is sent, and another user decides anew', async () => {
    const { page, url } = await start();
    const { token, info } = await tokenOf(USER);
    await enter(page, token);
    await page.getByText(`You are signed in as ${USER}`).waitFor();
    await it.api('DELETE', `/api/tokens/${info.id}`);
    page.outcome = { status: 401, json: { error: { code: 'UNAUTHORIZED', message: 'The token was revoked.' } } };
    await connect(page).click();
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
    page.consent = { json: { ...INFO, user: OTHER } };
    page.outcome = { json: { redirect: REDIRECT } };
    await enter(page, (await tokenOf(OTHER)).token);
    await page.getByText(`You are signed in as ${OTHER}`).waitFor();
    assert.equal(page.url(), url);
    assert.equal(page.decisions.length, 1, 'only the one that was rejected');
    calm(page, /401/);
    await page.context().close();
  });

  test('an operator who acts for a user continues with the own account', async () => {
    const { page } = await start();
    await page.evaluate((session) => sessionStorage.setItem('toolyard.session', JSON.stringify(session)), {
      kind: 'token',
      token: it.token,
      actingFor: USER,
    });
    page.consent = { status: 403, json: { error: { code: 'FORBIDDEN', message: 'Only the user can connect a client.' } } };
    await page.reload();
    await page.getByText(`You act for ${USER}.`).waitFor();
    await accessible(page);
    page.consent = { json: { ...INFO, user: BOSS } };
    await page.getByRole('button', { name: 'Continue with your own account' }).click();
    await page.getByText(`You are signed in as ${BOSS}`).waitFor();
    calm(page, /40[13]/);
    await page.context().close();
  });

  const DAY_MS = 86_400_000;
  const ago = (days) => new Date(Date.now() - days * DAY_MS).toISOString();
  const CLIENTS = [
    {
      id: 'c1',
      clientId: 'https://claude.ai/oauth/client.json',
      name: 'Claude',
      host: 'claude.ai',
      scopes: ['tools:read', 'tools:write', 'chat', 'openid', 'offline_access'],
      apps: [],
      createdAt: ago(3.5),
      lastUsedAt: ago(1.5),
      expiresAt: ago(-30.5),
    },
    {
      id: 'c2/x',
      clientId: 'dyn_1',
      name: 'Cursor',
      host: 'localhost',
      scopes: ['tools:read'],
      apps: ['com.example.todo'],
      createdAt: ago(2.5),
      lastUsedAt: null,
      expiresAt: ago(-1.5),
    },
  ];
  /** The tab in Settings, with clients that the test keeps. */
  async function clientsTab(more) {
    const { token } = await tokenOf(USER);
    const page = await open(browser, consoleOf(it), '/settings?tab=about', { token, ...more });
    page.clients = [...CLIENTS];
    await page.route('**/api/clients', (route) => route.fulfill({ json: { clients: page.clients } }));
    await page.route('**/api/clients/*', (route) => {
      const id = decodeURIComponent(new URL(route.request().url()).pathname.split('/').at(-1));
      page.clients = page.clients.filter((client) => client.id !== id);
      return route.fulfill({ status: 204 });
    });
    await page.getByRole('tab', { name: 'Connected clients' }).click();
    return page;
  }
  const cardOf = (page, name) =>
    page
      .getByRole('list', { name: 'Connected clients' })
      .getByRole('listitem')
      .filter({ has: page.getByRole('heading', { name, exact: true }) });

  test('connected clients are listed, disconnected, and updated live', async () => {
    const page = await clientsTab();
    const claude = cardOf(page, 'Claude');
    for (const text of [
      'claude.ai',
      'Call tools that read and change, Chat, Know who you are',
      'All your apps',
      '3 days ago',
      'in 30 days',
    ])
      await claude.getByText(text, { exact: true }).waitFor();
    const cursor = cardOf(page, 'Cursor');
    for (const text of ['To-do list', 'Never']) await cursor.getByText(text, { exact: true }).waitFor();
    await accessible(page);

    await cursor.getByRole('button', { name: 'Disconnect Cursor' }).click();
    const dialog = page.getByRole('dialog', { name: 'Disconnect Cursor?' });
    await dialog.getByText(/ends within a second/).waitFor();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await focused(cursor.getByRole('button', { name: 'Disconnect Cursor' }));
    await cursor.getByRole('button', { name: 'Disconnect Cursor' }).click();
    await dialog.getByRole('button', { name: 'Disconnect' }).click();
    await cursor.waitFor({ state: 'detached' });
    await toasted(page, 'Cursor was disconnected.');

    // Another surface disconnects the last one: the server announces that tokens changed.
    page.clients = [];
    await tokenOf(USER);
    await page.getByRole('heading', { name: 'No connected clients' }).waitFor();
    await becomes(() => page.getByLabel('MCP address', { exact: true }).innerText(), `${new URL(page.url()).origin}/mcp`);
    await page.getByRole('button', { name: 'Copy MCP address' }).waitFor();
    await accessible(page);
    calm(page);
    await page.context().close();
  });

  test('connected clients fit on a phone', async () => {
    const page = await clientsTab(PHONE);
    page.clients = [{ ...CLIENTS[1], name: 'W'.repeat(80), host: `${'sub.'.repeat(20)}example.com`, apps: [`com.${'x'.repeat(90)}`] }];
    await tokenOf(USER);
    await page.getByText(/sub\.sub/).waitFor();
    await settled(page);
    await fitsPhone(page);
    await accessible(page);
    calm(page);
    await page.context().close();
  });
});
