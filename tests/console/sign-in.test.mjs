// Signing in and out: in dev mode by a name, else by a token; and what happens when the server does not believe it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { accessible, becomes, calm, flip, focused, launch, open } from './browser.mjs';
import { at, consoleOf, enterToken, unfold } from './kit.mjs';
import { stage, USER } from './stage.mjs';

const OTHER = 'eve@example.com';
/** In dev mode a user without glasses has no session, which the library asks for. */
const NO_SESSION = /401/;
const menu = (page) => page.locator('summary').filter({ hasText: 'User menu' });
const signInPage = (page) => page.getByRole('heading', { name: 'Toolyard', level: 1 });

describe('in dev mode', () => {
  let it;
  let browser;
  before(async () => {
    [it, browser] = await Promise.all([stage(at), launch()]);
    await it.api('PUT', '/api/installs/com.example.todo', undefined, OTHER);
  });
  after(async () => {
    await browser?.close();
    await it?.close();
  });
  const visit = (path, more) => open(browser, consoleOf(it), path, more);

  test('a known user is selected, and then another one', async () => {
    const page = await visit('/library', { user: null });
    await page.getByText('anyone on this machine can sign in as any user').waitFor();
    await accessible(page);
    await page.getByRole('list', { name: 'Known users' }).getByRole('button', { name: USER }).click();
    await page.getByRole('heading', { name: 'Library', level: 1 }).waitFor();
    await menu(page).filter({ hasText: USER }).click();
    await page.getByText('operator, dev mode').waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Switch user' }).click();
    await page.getByRole('button', { name: OTHER }).click();
    await menu(page).filter({ hasText: OTHER }).waitFor();
    await page.reload();
    await menu(page).filter({ hasText: OTHER }).waitFor();
    calm(page, NO_SESSION);
    await page.context().close();
  });

  test('a name that the server refuses shows an error at the field, and no user is signed in', async () => {
    const page = await visit('/library', { user: null });
    const field = page.getByRole('textbox', { name: 'User' });
    await field.fill('ada lovelace');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page
      .getByRole('alert')
      .filter({ hasText: /user id/ })
      .waitFor();
    await becomes(() => field.getAttribute('aria-invalid'), 'true');
    assert.equal(await page.evaluate(() => localStorage.getItem('toolyard.session')), null);
    await accessible(page);
    await field.fill('new@example.com');
    await page.getByRole('button', { name: 'Continue' }).click();
    await menu(page).filter({ hasText: 'new@example.com' }).waitFor();
    calm(page, /400/, NO_SESSION);
    await page.context().close();
  });

  test('a session that the server refuses does not lock the console', async () => {
    const page = await visit('/library', { user: 'ada lovelace' });
    await page
      .getByRole('alert')
      .filter({ hasText: /user id/ })
      .waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Switch user' }).click();
    await page.getByRole('button', { name: USER }).click();
    await page.getByRole('heading', { name: 'Library', level: 1 }).waitFor();
    calm(page, /400/, NO_SESSION);
    await page.context().close();
  });

  test('a request that fails in the background does not disturb the page', async () => {
    const page = await visit('/apps');
    await page.getByRole('button', { name: 'New app' }).click();
    const name = page.getByRole('dialog').getByLabel('Name', { exact: true });
    await name.fill('Half written');
    let asked = 0;
    await page.route('**/api/me', (route) => {
      asked += 1;
      return route.fulfill({ status: 503, body: '{"error":"Not now."}' });
    });
    await page.clock.setFixedTime(Date.now() + 120_000);
    const again = page.waitForResponse('**/api/me');
    await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
    await (await again).finished();
    // It is drawn once more before it is looked at.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    assert.ok(asked > 0);
    await becomes(() => name.inputValue(), 'Half written');
    calm(page, /503/, NO_SESSION);
    await page.context().close();
  });

  test('focus moves to the title of a page, and returns to its place after a dialog', async () => {
    const page = await visit('/library', { viewport: { width: 390, height: 844 } });
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'Apps' }).click();
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1' && document.activeElement.textContent === 'Apps');
    const opener = page.getByRole('button', { name: 'New app' });
    await opener.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await focused(opener);
    calm(page, NO_SESSION);
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
  const visit = (path, more) => open(browser, consoleOf(it), path, more);
  const tokenOf = (user) => it.api('POST', '/api/tokens', { name: 'test', user });
  const enter = enterToken;

  test('a wrong token is refused, a valid one signs in, for this tab only', async () => {
    const { token } = await tokenOf(USER);
    const page = await visit('/library', { user: null });
    await signInPage(page).waitFor();
    assert.equal(await page.getByText('Your token expired').count(), 0);
    await accessible(page);
    await enter(page, 'ty_wrong');
    await page.getByRole('alert').waitFor();
    await becomes(() => page.getByLabel('Token', { exact: true }).getAttribute('aria-invalid'), 'true');
    await accessible(page);
    await enter(page, token);
    await menu(page).filter({ hasText: USER }).waitFor();
    assert.equal(await page.evaluate(() => localStorage.getItem('toolyard.session')), null);
    await page.reload();
    await menu(page).filter({ hasText: USER }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signInPage(page).waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.getItem('toolyard.session')), null);
    await page.reload();
    await signInPage(page).waitFor();
    calm(page, /401/);
    await page.context().close();
  });

  test('a token revoked before the page opens leads to the sign-in page with the reason', async () => {
    const { token, info } = await tokenOf(USER);
    const page = await visit('/library', { user: null });
    await enter(page, token);
    await page.getByRole('heading', { name: 'Library', level: 1 }).waitFor();
    await it.api('DELETE', `/api/tokens/${info.id}`);
    await page.goto(page.url().replace('/library', '/settings'));
    await page.getByText('Your token expired or was revoked. Sign in again.').waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    await accessible(page);
    const { token: next } = await tokenOf(USER);
    await enter(page, next);
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
    calm(page, /401/);
    await page.context().close();
  });

  test('the console warns before a token expires', async () => {
    const { token } = await tokenOf(USER);
    const page = await visit('/library', { user: null });
    await page.route('**/api/me', async (route) => {
      const response = await route.fetch();
      const me = await response.json();
      await route.fulfill({ response, json: { ...me, tokenEndsAt: new Date(Date.now() + 5 * 60_000).toISOString() } });
    });
    await enter(page, token);
    await page.getByText(/^Your token expires at .*Save your work/).waitFor();
    await accessible(page);
    await page.context().close();
  });

  test('signing out in one tab signs out the others', async () => {
    const { token } = await tokenOf(USER);
    const page = await visit('/library', { user: null });
    await unfold(page.getByLabel('Stay signed in on this device'));
    await flip(page.getByLabel('Stay signed in on this device'), true);
    await enter(page, token);
    await menu(page).waitFor();
    const second = await page.context().newPage();
    await second.goto(page.url());
    await menu(second).filter({ hasText: USER }).click();
    await second.getByRole('button', { name: 'Sign out' }).click();
    await signInPage(page).waitFor();
    calm(page, /401/);
    await page.context().close();
  });

  test('an operator acts for a user and then for themselves again', async () => {
    const page = await visit('/library', { user: null });
    await enter(page, it.token);
    await menu(page).filter({ hasText: 'boss@example.com' }).click();
    const act = async (user) => {
      await page.getByLabel('Act for').fill(user);
      await page.getByRole('button', { name: 'Apply' }).click();
    };
    await act('no body');
    await page
      .getByRole('alert')
      .filter({ hasText: /user id/ })
      .waitFor();
    await accessible(page);
    await act(USER);
    await menu(page).filter({ hasText: USER }).click();
    await becomes(() => page.getByLabel('Act for').inputValue(), USER);
    await act('');
    await menu(page).filter({ hasText: 'boss@example.com' }).waitFor();
    calm(page, /40[01]/);
    await page.context().close();
  });
});
