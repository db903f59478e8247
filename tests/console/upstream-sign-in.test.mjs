// An upstream that each user signs in to: the page that leads there, and the call in a conversation that waits for it. The upstream is a
// second Toolyard server with its own users, which is an authorization server and an MCP server.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { accessible, becomes, calm, focused, open, settled, toasted, until } from './browser.mjs';
import { ask, consoleOf, enterToken, fitsPhone, gate, live, PHONE, platform, ready, smallApp } from './kit.mjs';
import { stage, USER } from './stage.mjs';

const ID = 'second';
const NAME = 'Second server';
/** An app of the second server. */
const ECHO = 'org.echo';
const WORDS = 'water the cactus';
const AUTHORIZE = `/api/upstreams/${ID}/authorize`;
const PATH = `/upstreams/${ID}/sign-in`;

const second = {};
let app;
const it = platform({}, async (it) => {
  app = await smallApp();
  // A host name instead of an address: browsers share cookies between the ports of a host.
  Object.assign(second, await stage({ auth: 'token', host: 'localhost', settings: ['net.allow_loopback=true'] }));
  const schema = { type: 'object', properties: { words: { type: 'string' } } };
  const tools = [{ name: 'echo', description: 'Repeats.', inputSchema: schema, annotations: { readOnlyHint: true } }];
  await second.api('POST', '/api/apps', { packageName: ECHO, name: 'Echo', kind: 'tools-only', publicUrl: app.url, tools });
  await second.api('PUT', `/api/installs/${ECHO}`);
  for (const [id, more] of [
    [ID, { name: NAME, auth: 'oauth' }],
    ['open', { name: 'Open server' }],
  ]) {
    await it.api('POST', '/api/upstreams', { id, url: `${second.url}/mcp`, ...more });
    await it.api('PUT', `/api/installs/mcp.${id}`);
  }
  await live(it);
});
after(async () => {
  app?.close();
  await second.close?.();
});

const title = (page, name) => page.getByRole('heading', { name, level: 1 });
const needed = (page) => title(page, `Sign in to ${NAME}?`);
const done = (page) => title(page, `Signed in to ${NAME}`);
const proceed = (page) => page.getByRole('button', { name: 'Continue to sign in' });
/** Waits until the page has been in front long enough for a press. */
const enabled = (button) => button.and(button.page().locator('[aria-disabled="false"]')).waitFor();
/** The browser leaves the console for the upstream. */
const left = () => new RegExp(`asked ${second.url}`);

/**
 * A page of the console for a user who signs in here, instead of a session that the browser brings: that would be one for the second
 * server as well. `live: false`, because browsers limit the connections to a server, and several tabs are open.
 */
async function visit(path, more) {
  const page = await open(it.browser, consoleOf(it), path, { user: null, live: false, ...more });
  await page.getByLabel('User', { exact: true }).fill(USER);
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  return page;
}

/** Another tab of the same browser. */
async function tab(page, path) {
  const other = await page.context().newPage();
  await other.goto(`${consoleOf(it)}/console${path}`);
  return other;
}

/** Signs in at the second server and lets this one connect; the browser returns to this one. */
async function agree(page) {
  await page.getByText('A client asks for access to your tools. Sign in to decide.').waitFor();
  assert.equal(new URL(page.url()).origin, second.url);
  const { token } = await second.api('POST', '/api/tokens', { name: 'test', user: USER });
  await enterToken(page.locator('main.sign-in'), token);
  await page.getByText(`You are signed in as ${USER}`).waitFor();
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  await page.waitForURL((url) => url.pathname === '/oauth/callback');
  await page.getByText('You can close this page').waitFor();
  assert.equal(new URL(page.url()).origin, it.url);
}

const isAuthorized = async () => (await it.api('GET', AUTHORIZE)).authorized;
const forget = () => it.api('DELETE', AUTHORIZE);

describe('signing in', () => {
  test('the page leads to the upstream and back, and another tab learns of it', async () => {
    const page = await open(it.browser, consoleOf(it), PATH, { user: null, live: false });
    await page.getByText('An MCP server needs you to sign in there. Sign in to Toolyard first.').waitFor();
    await accessible(page);
    await page.getByLabel('User', { exact: true }).fill(USER);
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await needed(page).waitFor();
    await page.getByText(`You are signed in as ${USER}`).waitFor();
    const { host } = await it.api('GET', AUTHORIZE);
    await page.getByText(`The MCP server “${NAME}” (mcp.${ID}, at ${host}) needs you to sign in there.`).waitFor();
    await page.getByText(`Toolyard keeps the access for your account ${USER} only`).waitFor();
    assert.equal(await page.getByRole('navigation').count(), 0);
    await accessible(page);

    const other = await tab(page, PATH);
    await proceed(other).click();
    await agree(other);
    await accessible(other);
    // Nobody touches the first tab.
    await done(page).waitFor();
    await page.getByText(`You are signed in to ${NAME}. Waiting calls continue by themselves. You can close this page.`).waitFor();
    // A tab behind another one is not drawn.
    await page.bringToFront();
    await enabled(page.getByRole('button', { name: 'Sign in again' }));
    await settled(page);
    await accessible(page);
    assert.equal(await isAuthorized(), true);
    // It is the access of one user.
    await it.api('PUT', `/api/installs/mcp.${ID}`, undefined, 'eve@example.com');
    assert.equal((await it.api('GET', AUTHORIZE, undefined, 'eve@example.com')).authorized, false);
    calm(page);
    await page.context().close();
  });

  test('the access is replaced by another sign-in, and removed', async () => {
    const page = await visit(PATH);
    await done(page).waitFor();
    await page.getByRole('button', { name: 'Sign in again' }).click();
    await agree(page);
    await page.goto(`${consoleOf(it)}/console${PATH}`);
    await done(page).waitFor();

    const remove = page.getByRole('button', { name: 'Remove access' });
    const dialog = page.getByRole('dialog', { name: `Remove the access to ${NAME}?` });
    await remove.click();
    await dialog.getByText(`Toolyard deletes the access that it keeps for ${USER}.`).waitFor();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await focused(remove);
    assert.equal(await isAuthorized(), true);
    await remove.click();
    await dialog.getByRole('button', { name: 'Remove access' }).click();
    await needed(page).waitFor();
    await toasted(page, `The access to ${NAME} was removed.`);
    await focused(needed(page));
    await accessible(page);
    assert.equal(await isAuthorized(), false);
    calm(page, left(), /401/);
    await page.context().close();
  });

  test('an upstream that the user does not have, and one without sign-in', async () => {
    const page = await visit('/upstreams/missing/sign-in');
    await title(page, 'You do not have this MCP server').waitFor();
    await page.getByText('There is no mcp.missing for your account.').waitFor();
    assert.equal(await proceed(page).count(), 0);
    await accessible(page);
    await page.goto(`${consoleOf(it)}/console/upstreams/open/sign-in`);
    await title(page, 'No sign-in needed').waitFor();
    await page.getByText('mcp.open does not ask its users to sign in').waitFor();
    await accessible(page);
    await page.getByRole('link', { name: 'Go to Apps' }).click();
    await title(page, 'Apps').waitFor();
    calm(page, /40[04]/);
    await page.context().close();
  });

  test('the settings and the page of the app lead to the page', async () => {
    const page = await visit('/settings?tab=upstreams');
    const link = page.getByRole('link', { name: `Sign in to ${NAME}` });
    await link.waitFor();
    assert.equal(await page.getByRole('link', { name: 'Sign in to Open server' }).count(), 0);
    await accessible(page);
    await link.click();
    await title(page, new RegExp(NAME)).waitFor();
    await page.goto(`${consoleOf(it)}/console/apps/mcp.open`);
    await title(page, 'Open server').waitFor();
    await settled(page);
    assert.equal(await page.getByRole('link', { name: /^Sign in to/ }).count(), 0);
    await page.goto(`${consoleOf(it)}/console/apps/mcp.${ID}`);
    await link.waitFor();
    await accessible(page);
    await becomes(() => link.getAttribute('href'), `/console${PATH}`);
    calm(page);
    await page.context().close();
  });
});

describe('a call in a conversation', () => {
  const answers = (page) => page.getByRole('article', { name: 'Assistant' });
  const notice = (page) => page.locator('.tool-row').getByRole('status');

  /** A conversation, and what makes the model call the tool in it: the model has another name for it. */
  async function converse() {
    const page = await visit('/chat');
    await ask(page, 'hello');
    await page.getByText('You said: hello').waitFor();
    const names = it.model.asked.at(-1).tools.map((tool) => tool.function.name);
    const tool = names.find((name) => name.includes('org_echo__echo'));
    assert.ok(tool, names.join(' '));
    return { page, call: `call ${tool} with ${JSON.stringify({ words: WORDS })}` };
  }

  test('waits for the sign-in and continues in the same answer', async () => {
    // The tools of the upstream are known once a user has signed in.
    const first = await visit(PATH);
    await proceed(first).click();
    await agree(first);
    await first.context().close();
    await forget();

    const { page, call } = await converse();
    const before = it.model.asked.length;
    await ask(page, call);
    await notice(page).getByText(`${NAME} needs you to sign in.`).waitFor();
    const link = notice(page).getByRole('link', { name: `Sign in to ${NAME}` });
    await becomes(() => link.getAttribute('href'), `${it.url}/console${PATH}`);
    await accessible(page);
    assert.deepEqual([it.model.asked.length, app.asked.length], [before + 1, 0], 'nothing ran');

    const opened = page.context().waitForEvent('page');
    await link.click();
    const other = await opened;
    await needed(other).waitFor();
    assert.equal(await other.evaluate(() => window.opener), null);
    await proceed(other).click();
    await agree(other);
    // Nobody touches the conversation.
    await page.getByText(new RegExp(`^Done: .*${WORDS}`, 's')).waitFor();
    await notice(page).waitFor({ state: 'detached' });
    await ready(page);
    await becomes(() => page.getByRole('article', { name: 'You' }).count(), 2);
    await becomes(() => answers(page).count(), 2);
    assert.deepEqual([it.model.asked.length, app.asked.length], [before + 2, 1], 'it ran once');
    await accessible(page);

    // With access, the next call does not ask.
    await ask(page, call);
    await becomes(() => page.getByText(/^Done: /).count(), 2);
    assert.equal(await notice(page).count(), 0);
    calm(page);
    await page.context().close();
  });

  test('asks for the sign-in after a reload, until the answer is stopped', async () => {
    await forget();
    const { page, call } = await converse();
    await ask(page, call);
    await notice(page).getByText(`${NAME} needs you to sign in.`).waitFor();
    await page.reload();
    await notice(page).getByRole('link').waitFor();
    await becomes(() => page.locator('.tool-row').count(), 1);
    await page.getByRole('button', { name: 'Stop' }).click();
    await ready(page);
    await notice(page).waitFor({ state: 'detached' });
    calm(page);
    await page.context().close();
  });
});

// Here the test answers for the server.
describe('the page', () => {
  const ACCESS = { packageName: `mcp.${ID}`, name: NAME, host: 'upstream.example', authorized: false };
  const LINK = 'https://upstream.example/authorize?state=s';
  const LEFT = /asked https:\/\/upstream\.example/;

  /** `page.access` is sent for each request, but one that waits is held back until `page.answerWaiting`; `page.started` after a press. */
  async function staged(access = {}, more = {}) {
    const page = await it.page('/settings?tab=about', { live: false, ...more });
    const waiting = [];
    Object.assign(page, { access: { json: { ...ACCESS, ...access } }, started: { json: { link: LINK } }, posts: 0, waits: [] });
    page.answerWaiting = async (answer) => {
      await until(() => waiting.length > 0);
      await waiting.shift().fulfill(answer);
    };
    await page.context().route(`**${AUTHORIZE}*`, (route) => {
      const request = route.request();
      const wait = new URL(request.url()).searchParams.get('wait');
      if (request.method() === 'POST') {
        page.posts += 1;
        return route.fulfill(page.started);
      }
      if (wait === null) return route.fulfill(page.access);
      page.waits.push(wait);
      waiting.push(route);
    });
    await page
      .context()
      .route('https://upstream.example/**', (route) => route.fulfill({ contentType: 'text/html', body: '<h1>The upstream</h1>' }));
    await page.goto(`${consoleOf(it)}/console${PATH}`);
    return page;
  }

  test('asks for the link once, whatever is pressed meanwhile', async () => {
    const page = await staged();
    const held = gate();
    await page.route(`**${AUTHORIZE}`, (route) => (route.request().method() === 'POST' ? held.hold(route) : route.fallback()));
    await proceed(page).dblclick();
    await held.reached;
    await page.getByRole('button', { name: 'Opening …' }).click({ force: true });
    await accessible(page);
    held.open();
    await title(page, 'The upstream').waitFor();
    assert.equal(page.url(), LINK);
    assert.equal(page.posts, 1);
    calm(page, LEFT);
    await page.context().close();
  });

  test('a click right after the page came to the front does nothing', async () => {
    const page = await staged();
    await proceed(page).click({ trial: true });
    await proceed(page).evaluate((button) => {
      window.dispatchEvent(new Event('focus'));
      button.click();
    });
    await enabled(proceed(page));
    assert.equal(page.posts, 0);
    await proceed(page).click();
    await title(page, 'The upstream').waitFor();
    calm(page, LEFT);
    await page.context().close();
  });

  test('a sign-in that cannot begin can be repeated', async () => {
    const page = await staged();
    page.started = { status: 503, json: { error: { code: 'UNAVAILABLE', message: 'The upstream does not respond.' } } };
    await proceed(page).click();
    await page.getByRole('alert').getByText('The upstream does not respond.').waitFor();
    await focused(proceed(page));
    await accessible(page);
    page.started = { json: { link: 'javascript:alert(1)' } };
    await proceed(page).click();
    await page.getByRole('alert').getByText('an address for the sign-in that the console does not open').waitFor();
    page.started = { json: { link: LINK } };
    await proceed(page).click();
    await title(page, 'The upstream').waitFor();
    assert.equal(page.posts, 3);
    calm(page, LEFT, /503/);
    await page.context().close();
  });

  test('works again after the browser has returned to it', async () => {
    const page = await staged();
    // A response without content: the browser stays on the page.
    await page.route('https://upstream.example/**', (route) => route.fulfill({ status: 204 }));
    await proceed(page).click();
    const link = page.getByRole('link', { name: 'continue to upstream.example' });
    await becomes(() => link.getAttribute('href'), LINK);
    await accessible(page);
    await page.unroute('https://upstream.example/**');
    await page.evaluate(() => window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })));
    await link.waitFor({ state: 'detached' });
    await proceed(page).click();
    await title(page, 'The upstream').waitFor();
    assert.equal(page.posts, 2);
    calm(page, LEFT, /ERR_ABORTED/);
    await page.context().close();
  });

  test('asks the server again after answers and errors, until the user has access or the upstream is gone', async () => {
    const page = await staged();
    await needed(page).waitFor();
    await page.answerWaiting({ json: ACCESS });
    await page.answerWaiting({ status: 503, json: { error: { code: 'UNAVAILABLE', message: 'The server is starting.' } } });
    await page.answerWaiting({ json: { ...ACCESS, authorized: true } });
    await done(page).waitFor();
    await focused(done(page));
    assert.deepEqual(page.waits, ['30', '30', '30']);

    const other = await staged();
    await needed(other).waitFor();
    const gone = { status: 404, json: { error: { code: 'NOT_FOUND', message: 'There is no such upstream.' } } };
    other.access = gone;
    await other.answerWaiting(gone);
    await title(other, 'You do not have this MCP server').waitFor();
    await focused(title(other, 'You do not have this MCP server'));
    calm(page, /503/);
    calm(other, /404/);
    await Promise.all([page, other].map((one) => one.context().close()));
  });

  test('a server that does not respond is asked again on a press', async () => {
    const page = await it.page('/settings?tab=about', { live: false });
    await page.route(`**${AUTHORIZE}`, (route) =>
      route.fulfill({ status: 500, json: { error: { code: 'INTERNAL', message: 'No luck.' } } }),
    );
    await page.goto(`${consoleOf(it)}/console${PATH}`);
    await page.getByRole('alert').getByText('No luck.').waitFor();
    await accessible(page);
    await page.unroute(`**${AUTHORIZE}`);
    await page.getByRole('button', { name: 'Try again' }).click();
    await title(page, new RegExp(NAME)).waitFor();
    calm(page, /500/);
    await page.context().close();
  });

  test('on a phone, with the dark theme, long names and names that mislead', async () => {
    const long = { name: `${'W'.repeat(300)}\u202e`, host: `${'sub.'.repeat(40)}example.com`, packageName: `mcp.${'x'.repeat(40)}` };
    const user = `${'w'.repeat(60)}@example.com`;
    for (const authorized of [false, true]) {
      const page = await staged({ ...long, authorized }, { ...PHONE, user });
      await title(page, new RegExp(`W{60}…${authorized ? '$' : '\\?'}`)).waitFor();
      await settled(page);
      await fitsPhone(page);
      await accessible(page);
      calm(page);
      await page.context().close();
    }
    const page = await staged({ name: '<img src=x onerror=alert(1)>' });
    await title(page, 'Sign in to <img src=x onerror=alert(1)>?').waitFor();
    calm(page);
    await page.context().close();
  });
});
