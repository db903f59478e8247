// A token that ends or is revoked while somebody works: what they typed stays, and nothing goes on without a new one.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { accessible, becomes, calm, flip, focused, isOn, launch, open, quiet } from './browser.mjs';
import { wear } from './glasses-app.mjs';
import { ask, at, consoleOf, enterToken, fitsPhone, PHONE, unfold } from './kit.mjs';
import { stage, USER } from './stage.mjs';

const OTHER = 'eve@example.com';
const BOSS = 'boss@example.com';
const menu = (page) => page.locator('summary').filter({ hasText: 'User menu' });
const again = (page) => page.getByRole('dialog', { name: 'Sign in again' });
const signInPage = (page) => page.getByRole('heading', { name: 'Toolyard', level: 1 });

describe('a token that expires', () => {
  let it;
  let browser;
  before(async () => {
    [it, browser] = await Promise.all([stage({ ...at, auth: 'token', settings: ['net.allow_loopback=true'] }), launch()]);
  });
  after(async () => {
    await browser?.close();
    await it?.close();
  });
  const tokenOf = (user, role = 'user') => it.api('POST', '/api/tokens', { name: 'test', user, role });
  const revoke = ({ info }) => it.api('DELETE', `/api/tokens/${info.id}`);
  async function enter(page, { token }) {
    await enterToken(again(page).or(page.locator('main.sign-in')), token);
  }
  /** A page of the console for a token of this tab; what is asked is counted. */
  async function visit(path, made, more = {}) {
    const page = await open(browser, consoleOf(it), path, { user: null, live: false, ...more });
    await enter(page, made);
    await menu(page).waitFor();
    await quiet(page);
    page.asked = [];
    page.on('request', (request) => new URL(request.url()).pathname.startsWith('/api/') && page.asked.push(request));
    return page;
  }
  /** The page looks after itself, as it does when somebody comes back to the tab. */
  async function look(page) {
    await page.clock.setFixedTime(Date.now() + 120_000);
    await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
  }

  test('typed input is kept, and the pending action runs with the new token', async () => {
    const first = await tokenOf(USER, 'developer');
    const page = await visit('/apps', first);
    await page.getByRole('button', { name: 'New app' }).click();
    const form = page.getByRole('dialog', { name: 'New app' });
    await form.getByLabel('Name', { exact: true }).fill('Half written');
    await form.getByLabel('Package', { exact: true }).fill('com.example.half');
    await form.getByLabel('URL', { exact: true }).fill('http://127.0.0.1:9');
    await revoke(first);
    await form.getByRole('button', { name: 'Create app' }).click();
    await again(page)
      .getByText(/Your input is kept: sign in as ada@example.com/)
      .waitFor();
    await accessible(page);
    await focused(again(page).getByLabel('Token', { exact: true }));

    // Neither Escape nor coming back to the tab leads anywhere, or asks the server.
    page.asked.length = 0;
    for (let count = 0; count < 4; count += 1) await page.keyboard.press('Escape');
    await look(page);
    await again(page).getByLabel('Token', { exact: true }).fill('wrong');
    await again(page).getByRole('button', { name: 'Sign in' }).click();
    await again(page).getByRole('alert').waitFor();
    assert.deepEqual(
      await Promise.all(page.asked.map(async (one) => [new URL(one.url()).pathname, await one.headerValue('authorization')])),
      [['/api/me', 'Bearer wrong']],
    );
    await accessible(page);

    await enter(page, await tokenOf(USER, 'developer'));
    await page.getByRole('dialog', { name: 'Key and secret of Half written' }).waitFor();
    await again(page).waitFor({ state: 'detached' });
    assert.equal((await it.api('GET', '/api/apps/com.example.half')).name, 'Half written');
    for (const request of page.asked.slice(1)) assert.notEqual(await request.headerValue('authorization'), `Bearer ${first.token}`);
    calm(page, /401/);
    await page.context().close();
  });

  test('a read-only page continues where it was, with updated data', async () => {
    const first = await tokenOf(USER);
    const page = await visit('/settings?tab=tokens', first);
    const rows = page.getByRole('list', { name: 'Tokens' }).getByRole('listitem');
    await rows.first().waitFor();
    await page.evaluate(() => (window.stays = true));
    await page.getByRole('button', { name: 'New token' }).focus();
    await revoke(first);
    await look(page);
    await again(page).waitFor();
    await rows.first().waitFor();
    await it.api('POST', '/api/tokens', { name: 'made meanwhile', user: USER });
    await enter(page, await tokenOf(USER));
    await again(page).waitFor({ state: 'detached' });
    await rows.filter({ hasText: 'made meanwhile' }).waitFor();
    await focused(page.getByRole('button', { name: 'New token' }));
    assert.ok(await page.evaluate(() => window.stays), 'the page is still the same one');
    calm(page, /401/);
    await page.context().close();
  });

  test('another user starts with a fresh page and sees no previous data', async () => {
    const first = await tokenOf(USER);
    const page = await visit('/library', first);
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('a secret of ada');
    await page.evaluate(() => (window.before = true));
    let prompts = 0;
    page.on('dialog', (prompt) => ((prompts += 1), prompt.accept()));
    await revoke(first);
    await look(page);
    await again(page).waitFor();
    await enter(page, await tokenOf(OTHER));
    await menu(page).filter({ hasText: OTHER }).waitFor();
    assert.equal(await page.evaluate(() => window.before), undefined, 'the document is another one');
    await becomes(() => page.getByRole('textbox', { name: 'Message' }).inputValue(), '');
    assert.equal(await again(page).count(), 0);
    assert.equal(prompts, 0);
    await page.goBack();
    await menu(page).filter({ hasText: OTHER }).waitFor();
    calm(page, /401/);
    await page.context().close();
  });

  test('unsaved changes cause no prompt when another user signs in', async () => {
    const first = await tokenOf(BOSS, 'operator');
    const page = await visit('/apps/com.example.todo?tab=details', first);
    let prompts = 0;
    page.on('dialog', (prompt) => ((prompts += 1), prompt.accept()));
    await page.getByLabel('Name', { exact: true }).fill('Another name');
    await revoke(first);
    await page.getByRole('button', { name: 'Save' }).click();
    await again(page).waitFor();
    await becomes(() => page.getByLabel('Name', { exact: true }).inputValue(), 'Another name');
    await enter(page, await tokenOf(OTHER));
    await menu(page).filter({ hasText: OTHER }).waitFor();
    assert.equal(prompts, 0);
    assert.equal((await it.api('GET', '/api/apps/com.example.todo')).name, 'To-do list', 'and it is not saved as them');
    calm(page, /401/);
    await page.context().close();
  });

  test('signing out there, or in another tab, signs out', async () => {
    const first = await tokenOf(USER);
    const page = await open(browser, consoleOf(it), '/library', { user: null, live: false });
    await unfold(page.getByLabel('Stay signed in on this device'));
    await flip(page.getByLabel('Stay signed in on this device'), true);
    await enter(page, first);
    await menu(page).waitFor();
    const second = await page.context().newPage();
    await second.goto(page.url());
    await menu(second).waitFor();
    await revoke(first);
    await look(page);
    await again(page).waitFor();
    await look(second);
    await again(second).waitFor();
    // A third one that is opened now has nothing to lose, and takes nothing from the others.
    const third = await page.context().newPage();
    await third.goto(page.url());
    await third.getByText('Your token expired or was revoked. Sign in again.').waitFor();
    await again(page).waitFor();
    await again(second).getByRole('button', { name: 'Sign out' }).click();
    await signInPage(second).waitFor();
    await signInPage(page).waitFor();
    for (const one of [page, second]) assert.equal(await one.getByText('Your token expired').count(), 0);
    assert.equal(await page.evaluate(() => localStorage.getItem('toolyard.session')), null);
    calm(page, /401/);
    await page.context().close();
  });

  test('a new token that one tab stores for all tabs is used by the others', async () => {
    const first = await tokenOf(USER);
    const page = await open(browser, consoleOf(it), '/library', { user: null, live: false });
    await unfold(page.getByLabel('Stay signed in on this device'));
    await flip(page.getByLabel('Stay signed in on this device'), true);
    await enter(page, first);
    await menu(page).waitFor();
    const second = await page.context().newPage();
    await second.goto(`${consoleOf(it)}/console/chat`);
    await second.getByRole('textbox', { name: 'Message' }).fill('half a message');
    await revoke(first);
    for (const one of [page, second]) {
      await look(one);
      await again(one).waitFor();
    }
    await isOn(again(page).getByLabel('Stay signed in on this device'), true);
    await enter(page, await tokenOf(USER));
    await again(second).waitFor({ state: 'detached' });
    await becomes(() => second.getByRole('textbox', { name: 'Message' }).inputValue(), 'half a message');
    calm(page, /401/);
    await page.context().close();
  });

  test('an operator continues to act for the same user', async () => {
    const first = await tokenOf(BOSS, 'operator');
    const page = await visit('/chat', first);
    await menu(page).click();
    await page.getByLabel('Act for').fill(USER);
    await page.getByRole('button', { name: 'Apply' }).click();
    await menu(page).filter({ hasText: USER }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('for ada');
    await revoke(first);
    await look(page);
    await enter(page, await tokenOf(BOSS, 'operator'));
    await again(page).waitFor({ state: 'detached' });
    await menu(page).filter({ hasText: USER }).waitFor();
    await becomes(() => page.getByRole('textbox', { name: 'Message' }).inputValue(), 'for ada');
    calm(page, /401/);
    await page.context().close();
  });

  test('a response in progress is received to its end after the sign-in', async () => {
    const first = await tokenOf(USER);
    const page = await visit('/chat', first);
    await ask(page, 'count slowly');
    await page.getByText(/word2/).waitFor();
    await revoke(first);
    await look(page);
    await again(page).waitFor();
    const said = await page.locator('.messages').innerText();
    assert.ok(!said.includes('word39'));
    await enter(page, await tokenOf(USER));
    await again(page).waitFor({ state: 'detached' });
    it.model.resume();
    await page.getByText(/word39/).waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await becomes(async () => (await page.locator('.messages').innerText()).match(/word5\b/g)?.length, 1, 'once');
    assert.equal(await page.getByRole('alert').count(), 0);
    calm(page, /401/);
    await page.context().close();
  });

  test('a message sent after expiry waits for the sign-in', async () => {
    const first = await tokenOf(USER);
    const page = await visit('/chat', first);
    await revoke(first);
    await ask(page, 'good morning');
    await enter(page, await tokenOf(USER));
    await page.getByText('You said: good morning').waitFor();
    calm(page, /401/);
    await page.context().close();
  });

  test('glasses disconnect meanwhile and reconnect afterwards', async () => {
    const first = await tokenOf(USER);
    const page = await visit('/glasses', first);
    const sockets = [];
    page.on('websocket', (socket) => socket.url().includes('/glasses-ws') && sockets.push(socket));
    await wear(page);
    await page.getByText('connected', { exact: true }).waitFor();
    const closed = sockets[0].waitForEvent('close');
    await revoke(first);
    await look(page);
    await again(page).waitFor();
    await closed;
    assert.equal(sockets.length, 1);
    await enter(page, await tokenOf(USER));
    await page.getByText('connected', { exact: true }).waitFor();
    assert.equal(sockets.length, 2);
    assert.ok(!sockets.some((socket) => socket.url().includes(first.token)));
    calm(page, /401|WebSocket/);
    await page.context().close();
  });

  test('the live list stops polling and is live again afterwards', async () => {
    const first = await tokenOf(USER);
    const page = await visit('/activity', first);
    // Timers that were set before do not follow the clock.
    await page.clock.install();
    await page.reload();
    await page.getByText('live', { exact: true }).waitFor();
    await revoke(first);
    await page.clock.fastForward(120_000);
    await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
    await again(page).waitFor();
    await page.getByText('connection lost', { exact: true }).waitFor();
    page.asked.length = 0;
    await page.clock.fastForward(120_000);
    assert.deepEqual(
      page.asked.map((one) => one.url()),
      [],
    );
    await enter(page, await tokenOf(USER));
    await page.getByText('live', { exact: true }).waitFor();
    calm(page, /401/);
    await page.context().close();
  });

  test('when the clock says that the token has expired, the server is asked', async () => {
    const first = await tokenOf(USER);
    const page = await open(browser, consoleOf(it), '/chat', { user: null, live: false });
    await page.route('**/api/me', async (route) => {
      const response = await route.fetch();
      const me = await response.json();
      await route.fulfill({ response, json: { ...me, tokenEndsAt: new Date(Date.now() + 60_000).toISOString() } });
    });
    await page.clock.install();
    await page.reload();
    await enter(page, first);
    await page.getByText(/^Your token expires at/).waitFor();
    await page.unroute('**/api/me');
    await revoke(first);
    await page.clock.fastForward(90_000);
    await again(page).waitFor();
    calm(page, /401/);
    await page.context().close();
  });

  test('the change stream ends with the token, and the page shows it at once', async () => {
    const first = await tokenOf(USER);
    const page = await visit('/library', first, { live: true });
    await page.getByRole('heading', { name: 'Library', level: 1 }).waitFor();
    await revoke(first);
    await again(page).waitFor();
    await enter(page, await tokenOf(USER));
    await again(page).waitFor({ state: 'detached' });
    await it.api('POST', '/api/apps', { packageName: 'com.example.after', name: 'Made afterwards' });
    await page.getByRole('heading', { name: 'Made afterwards' }).waitFor();
    calm(page, /401/);
    await page.context().close();
  });

  test('on a phone, with the dark theme', async () => {
    const first = await tokenOf(USER);
    const page = await visit('/library', first, PHONE);
    await revoke(first);
    await look(page);
    await again(page).waitFor();
    await fitsPhone(page);
    await accessible(page);
    await page.context().close();
  });
});
