// Accounts: signing in with a link, a password, a passkey or an issuer; the own account in the settings; and sessions that end.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { accessible, becomes, calm, focused, launch, open, settled, toasted } from './browser.mjs';
import { wear } from './glasses-app.mjs';
import { ask, at, consoleOf, enterToken, fitsPhone, PHONE } from './kit.mjs';
import {
  addAuthenticator,
  CLIENT,
  enterPassword,
  invite,
  menu,
  passwordForm,
  setPassword,
  signInPage,
  STAGE,
  startIssuer,
  visitByLink,
} from './sign-in-kit.mjs';
import { stage, USER } from './stage.mjs';

const again = (page) => page.getByRole('dialog', { name: 'Sign in again' });
const LINK_USED = 'This link was already used, has expired, or is incomplete.';
const sessions = (page) => page.getByRole('list', { name: 'Browser sessions' }).getByRole('listitem');
const passkeys = (page) => page.getByRole('list', { name: 'Passkeys' }).getByRole('listitem');

describe('accounts', () => {
  let it;
  let browser;
  before(async () => {
    [it, browser] = await Promise.all([stage({ ...at, ...STAGE }), launch()]);
  });
  after(async () => {
    await browser?.close();
    await it?.close();
  });
  const visit = (path, more) => open(browser, consoleOf(it), path, { user: null, ...more });
  let made = 0;
  /** A new user with a password, signed in in this page. */
  async function person(more, options) {
    const user = `user${(made += 1)}@example.com`;
    const page = await visitByLink(browser, consoleOf(it), await invite(it, user, more), options);
    await setPassword(page);
    return { user, page };
  }
  /** Ends all sessions of a user. */
  const endSessions = (user) => it.api('POST', `/api/users/${encodeURIComponent(user)}/sign-out`, { tokens: false, clients: false });

  test('a link signs in once, on a press, and then a password is set and used', async () => {
    const user = 'linked@example.com';
    const link = await invite(it, user, { name: 'Linked User', groups: ['staff'] });
    const code = new URL(link).hash;
    const page = await visit(`/sign-in${code}`);
    await page.getByText('You opened a sign-in link.').waitFor();
    assert.equal(new URL(page.url()).hash, '');
    await accessible(page);
    // Opened a second time, by a preview or a reload, it still works.
    await page.goto(`${consoleOf(it)}/console/sign-in?again=1${code}`);
    await page.getByRole('button', { name: 'Sign in', exact: true }).first().click();
    await page.getByText('Your sign-in link is used up.').waitFor();
    for (const text of ['Linked User', 'staff']) await page.getByText(text, { exact: true }).waitFor();
    await accessible(page);
    const kept = await page.evaluate(() => JSON.parse(localStorage.getItem('toolyard.session')));
    assert.deepEqual([kept.kind, kept.user, Object.keys(kept).sort()], ['cookie', user, ['at', 'kind', 'user']]);

    await page.getByRole('button', { name: 'Set a password' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set a password' });
    await dialog.getByLabel('New password', { exact: true }).fill('short');
    await dialog.getByRole('button', { name: 'Set password' }).click();
    await dialog.getByText('Too short: use at least 12 characters.').waitFor();
    await focused(dialog.getByLabel('New password', { exact: true }));
    await accessible(page);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await setPassword(page);
    await page.getByText('Your sign-in link is used up.').waitFor({ state: 'detached' });

    const second = await visit(`/sign-in${code}`);
    await second.getByRole('button', { name: 'Sign in', exact: true }).first().click();
    await second.getByText(LINK_USED).waitFor();
    await accessible(second);
    await enterPassword(second, user, 'not the password');
    await second.getByText('The account or the password is wrong.').waitFor();
    await accessible(second);
    await enterPassword(second, user);
    await menu(second).filter({ hasText: user }).waitFor();
    calm(page, /401/);
    calm(second, /401/);
    await Promise.all([page, second].map((one) => one.context().close()));
  });

  test('a passkey is added, signs in, and is removed', async () => {
    const { user, page } = await person();
    const device = await addAuthenticator(page);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a passkey' });
    await dialog.getByLabel('Name').fill('Laptop');
    await accessible(page);
    await device.agrees(false);
    await dialog.getByRole('button', { name: 'Add passkey' }).click();
    await dialog.getByText('The passkey prompt was cancelled or timed out. Try again.').waitFor();
    await device.agrees(true);
    await dialog.getByRole('button', { name: 'Add passkey' }).click();
    await passkeys(page).filter({ hasText: 'Laptop' }).getByText('never used').waitFor();
    assert.equal((await device.credentials()).length, 1);
    await accessible(page);

    await device.isTouched(false);
    await menu(page).click();
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await signInPage(page).waitFor();
    assert.equal(await page.evaluate(() => localStorage.getItem('toolyard.session')), null);
    await page.reload();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
    await device.isTouched(true);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await menu(page).filter({ hasText: user }).waitFor();
    await page.getByText('with a passkey').first().waitFor();

    await passkeys(page).getByRole('button', { name: 'Remove Laptop' }).click();
    await page.getByRole('dialog', { name: 'Remove “Laptop”?' }).getByRole('button', { name: 'Remove' }).click();
    await page.getByText('You have no passkeys.').waitFor();
    // It is now the only way to sign in.
    await page.getByRole('button', { name: 'Remove password' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove password' }).click();
    await page.locator('.toast.bad').waitFor();
    await page.getByText(/^Changed/).waitFor();
    calm(page, /401|409/);
    await page.context().close();
  });

  test('the sign-in page returns to the page that the user wanted, and tells what to do', async () => {
    const { user, page: first } = await person();
    const page = await visit('/library?q=todo');
    await passwordForm(page).getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Enter your account and your password.').waitFor();
    await enterPassword(page, user);
    await page.getByRole('heading', { name: 'Library', level: 1 }).waitFor();
    assert.equal(new URL(page.url()).search, '?q=todo');
    // Signed in, the sign-in page leads on.
    await page.goto(`${consoleOf(it)}/console/sign-in?return=${encodeURIComponent('/console/tools?q=a')}`);
    await page.getByRole('heading', { name: 'Tools', level: 1 }).waitFor();
    assert.equal(new URL(page.url()).search, '?q=a');
    await page.goto(`${consoleOf(it)}/console/sign-in?return=${encodeURIComponent('https://example.com/')}`);
    await page.getByRole('heading', { level: 1 }).filter({ hasNotText: 'Tools' }).waitFor();
    assert.equal(new URL(page.url()).origin, new URL(consoleOf(it)).origin);

    const other = await visit('/sign-in?problem=taken');
    await other.getByRole('alert').filter({ hasText: 'signs in another way' }).waitFor();
    await accessible(other);
    calm(page, /401/);
    calm(other, /401/);
    await Promise.all([first, page, other].map((one) => one.context().close()));
  });

  test('too many attempts: it says how long to wait', async () => {
    const page = await visit('/library');
    await page.route('**/api/sign-in/password', (route) =>
      route.fulfill({
        status: 429,
        headers: { 'Retry-After': '30' },
        json: { success: false, error: { code: 'RATE_LIMITED', message: 'Too many attempts.' } },
      }),
    );
    await enterPassword(page, USER);
    await page.getByText('Too many attempts. Wait 30 seconds, then try again.').waitFor();
    await accessible(page);
    calm(page, /401|429/);
    await page.context().close();
  });

  test('a token is still possible', async () => {
    const { token } = await it.api('POST', '/api/tokens', { name: 'test', user: USER });
    const page = await visit('/settings');
    await enterToken(page, token);
    await page.getByText('Sign in in the browser to manage your account').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Delete my account' }).count(), 0);
    await accessible(page);
    await page.getByRole('button', { name: 'Sign out and sign in in the browser' }).click();
    await signInPage(page).waitFor();
    calm(page, /401/);
    await page.context().close();
  });

  test('a session that ends keeps the input, and continues after the sign-in', async () => {
    const { user, page } = await person({ role: 'developer' });
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('half a message');
    await endSessions(user);
    await again(page).getByText(`Your input is kept: sign in as ${user} to continue.`).waitFor();
    await focused(again(page).getByLabel('Password', { exact: true }));
    await accessible(page);
    await enterPassword(again(page), user, 'wrong password');
    await again(page).getByText('The account or the password is wrong.').waitFor();
    await enterPassword(again(page), user);
    await again(page).waitFor({ state: 'detached' });
    await becomes(() => page.getByRole('textbox', { name: 'Message' }).inputValue(), 'half a message');

    // Signed in again in another tab.
    await endSessions(user);
    await again(page).waitFor();
    const second = await page.context().newPage();
    await second.goto(`${consoleOf(it)}/console/library`);
    await second.getByText('Your session ended. Sign in again.').waitFor();
    await enterPassword(second, user);
    await menu(second).waitFor();
    await again(page).waitFor({ state: 'detached' });
    await becomes(() => page.getByRole('textbox', { name: 'Message' }).inputValue(), 'half a message');
    calm(page, /401/);
    await page.context().close();
  });

  test('another user in the same browser starts with a fresh page', async () => {
    const { user, page } = await person();
    const { user: other, page: elsewhere } = await person();
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('a secret');
    await page.evaluate(() => (window.before = true));
    await endSessions(user);
    await again(page).waitFor();
    await enterPassword(again(page), other);
    await menu(page).filter({ hasText: other }).waitFor();
    assert.equal(await page.evaluate(() => window.before), undefined, 'the document is another one');
    // All tabs share the cookie, so they follow it.
    const second = await page.context().newPage();
    await second.goto(`${consoleOf(it)}/console/library`);
    await menu(second).filter({ hasText: other }).waitFor();
    await menu(second).click();
    await second.getByRole('button', { name: 'Sign out' }).click();
    await signInPage(page).waitFor();
    await enterPassword(second, user);
    await menu(page).filter({ hasText: user }).waitFor();
    calm(page, /401/);
    await Promise.all([page, elsewhere].map((one) => one.context().close()));
  });

  test('browser sessions are listed and ended', async () => {
    const { user, page } = await person();
    const [second, third] = await Promise.all(['/library', '/library'].map((path) => visit(path)));
    for (const one of [second, third]) {
      await enterPassword(one, user);
      await menu(one).waitFor();
    }
    await page.reload();
    await becomes(() => sessions(page).count(), 3);
    await sessions(page).filter({ hasText: 'this browser' }).getByText('with a sign-in link').waitFor();
    await accessible(page);
    await sessions(page).filter({ hasNotText: 'this browser' }).first().getByRole('button').click();
    await becomes(() => sessions(page).count(), 2);
    await page.getByRole('button', { name: 'Sign out all others' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out all others' }).click();
    await becomes(() => sessions(page).count(), 1);
    for (const one of [second, third]) await again(one).waitFor();
    calm(page, /401/);
    await Promise.all([page, second, third].map((one) => one.context().close()));
  });

  test('a change that needs a recent sign-in asks for it and then continues', async () => {
    const { user, page } = await person();
    let rejected = 0;
    await page.route('**/api/me/password', (route) => {
      if (rejected > 0) return route.fallback();
      rejected += 1;
      return route.fulfill({ status: 403, json: { success: false, error: { code: 'SIGN_IN_AGAIN', message: 'Sign in again.' } } });
    });
    await page.getByRole('button', { name: 'Change password' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change password' });
    await dialog.getByLabel('New password', { exact: true }).fill('another password');
    await dialog.getByLabel('Repeat the new password').fill('another password');
    await dialog.getByRole('button', { name: 'Change password' }).click();
    const confirm = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await confirm.waitFor();
    await accessible(page);
    await confirm.getByRole('button', { name: 'Close' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'Sign in again.' }).waitFor();
    rejected = 0;
    await dialog.getByRole('button', { name: 'Change password' }).click();
    await enterPassword(confirm, user);
    await confirm.waitFor({ state: 'detached' });
    await dialog.waitFor({ state: 'detached' });
    await toasted(page, 'Your password was changed.');

    await page.getByRole('button', { name: 'Change password' }).click();
    await dialog.getByLabel('Current password').fill('not the current one');
    await dialog.getByLabel('New password', { exact: true }).fill('a third password');
    await dialog.getByLabel('Repeat the new password').fill('a third password');
    await dialog.getByRole('button', { name: 'Change password' }).click();
    await dialog.getByText('This is not your current password.').waitFor();
    await accessible(page);
    assert.equal(await again(page).count(), 0);
    calm(page, /40[13]/);
    await page.context().close();
  });

  test('the data is downloaded, and the account deleted', async () => {
    const { user, page } = await person();
    const file = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download my data' }).click();
    const saved = await file;
    assert.equal(saved.suggestedFilename(), `toolyard-data-${user}.json`);
    assert.ok((await readFile(await saved.path(), 'utf8')).includes(user));
    await page.getByRole('button', { name: 'Delete my account' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete your account?' });
    await dialog.getByLabel('Your user ID').fill('someone else');
    await dialog.getByRole('button', { name: 'Delete my account' }).and(page.locator(':disabled')).waitFor();
    await accessible(page);
    await dialog.getByLabel('Your user ID').fill(user);
    await dialog.getByRole('button', { name: 'Delete my account' }).click();
    await signInPage(page).waitFor();
    await enterPassword(page, user);
    await page.getByText('The account or the password is wrong.').waitFor();
    calm(page, /401/);
    await page.context().close();
  });

  test('live pages, the glasses and the chat work with a cookie', async () => {
    const { page } = await person();
    await page.getByRole('link', { name: 'Chat' }).click();
    await ask(page, 'good morning');
    await page.getByText('You said: good morning').waitFor();
    await page.getByRole('link', { name: 'Activity' }).click();
    await page.getByText('live', { exact: true }).waitFor();
    const socket = page.waitForEvent('websocket', (one) => one.url().includes('/glasses-ws'));
    await page.getByRole('link', { name: 'Glasses' }).click();
    await wear(page);
    assert.match((await socket).url(), /ticket=/);
    await page.getByText('connected', { exact: true }).waitFor();
    calm(page, /401/);
    await page.context().close();
  });

  /** A program on a device asks to sign in; `poll` asks for its token. */
  async function device(name) {
    const login = await it.api('POST', '/api/sign-in/device', { name });
    const headers = { 'Content-Type': 'application/json' };
    const body = JSON.stringify({ deviceCode: login.deviceCode });
    const poll = async () => {
      const response = await fetch(`${it.url}/api/sign-in/device/token`, { method: 'POST', headers, body });
      return { status: response.status, ...(await response.json()) };
    };
    return { ...login, poll };
  }

  test('a program on a device is signed in with its code, or refused', async () => {
    const { user, page: first } = await person();
    const program = await device('toolyard on laptop');
    assert.equal((await program.poll()).status, 202);
    const page = await visit(`/device?code=${program.userCode}`);
    await page.getByText('A program on a device wants to sign in with your account.').waitFor();
    await enterPassword(page, user);
    await page.getByRole('heading', { name: 'Sign in toolyard on laptop?' }).waitFor();
    await page.getByText(program.userCode, { exact: true }).waitFor();
    await page.getByText('Only continue if you started this yourself').waitFor();
    await accessible(page);
    assert.equal((await program.poll()).status, 202, 'only a press agrees');
    await page.getByLabel('How long').selectOption('7');
    await becomes(() => page.getByRole('button', { name: 'Sign in the program' }).getAttribute('aria-disabled'), 'false');
    await page.getByRole('button', { name: 'Sign in the program' }).click();
    await page.getByRole('heading', { name: 'Return to your device' }).waitFor();
    await accessible(page);
    const { token, userId } = await program.poll();
    assert.equal(userId, user);
    assert.equal((await fetch(`${it.url}/api/me`, { headers: { Authorization: `Bearer ${token}` } })).status, 200);

    const other = await device('a stranger');
    await page.goto(`${consoleOf(it)}/console/device`);
    await page.getByLabel('Code').fill(other.userCode.toLowerCase());
    await accessible(page);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Refuse' }).click();
    await page.getByRole('heading', { name: 'Refused' }).waitFor();
    assert.equal((await other.poll()).status, 401);

    await page.goto(`${consoleOf(it)}/console/device?code=BBBB-BBBB`);
    await page.getByRole('heading', { name: 'No program waits with this code' }).waitFor();
    await page.getByRole('button', { name: 'Enter another code' }).click();
    await page.getByLabel('Code').waitFor();
    calm(page, /40[14]/);
    await Promise.all([first, page].map((one) => one.context().close()));
  });

  test('on a phone, with the dark theme', async () => {
    const page = await visit('/library', PHONE);
    await passwordForm(page).waitFor();
    await fitsPhone(page);
    await accessible(page);
    const long = `${'w'.repeat(60)}@example.com`;
    const link = await invite(it, long, { name: 'W'.repeat(100), groups: ['g'.repeat(60)] });
    const account = await visitByLink(browser, consoleOf(it), link, PHONE);
    await setPassword(account);
    await settled(account);
    await fitsPhone(account);
    await accessible(account);
    await Promise.all([page, account].map((one) => one.context().close()));
  });
});

describe('an issuer', () => {
  let it;
  let browser;
  let issuer;
  const people = {
    ada: { email: 'ada@corp.example', email_verified: true, name: 'Ada of Corp', groups: ['staff'] },
    mallory: { email: 'mallory@corp.example', email_verified: true, name: 'Mallory', groups: ['guests'] },
  };
  before(async () => {
    issuer = await startIssuer(people);
    process.env[CLIENT.secretEnv] = CLIENT.secret;
    const config = `
[[sign_in.issuers]]
id = "corp"
name = "Example Corp"
issuer = "${issuer.url}"
client_id = "${CLIENT.id}"
client_secret_env = "${CLIENT.secretEnv}"
scopes = ["openid", "email", "profile", "groups"]
allow_private_network = true
[[sign_in.issuers.rules]]
claim = "groups"
value = "staff"
role = "user"
groups = ["staff"]
`;
    [it, browser] = await Promise.all([stage({ ...at, ...STAGE, config }), launch()]);
    issuer.serve(`${it.url}/sign-in/corp/callback`);
  });
  after(async () => {
    await browser?.close();
    await it?.close();
    issuer?.close();
  });
  const visit = (path, more) => open(browser, consoleOf(it), path, { user: null, ...more });
  const AT_ISSUER = /asked http:\/\/localhost/;

  test('signs in and returns to the wanted page with its query', async () => {
    issuer.user = 'ada';
    const page = await visit('/authorize?request=a%20b%2Bc');
    await page.getByText('A client asks for access to your tools. Sign in to decide.').waitFor();
    await accessible(page);
    await page.getByRole('link', { name: 'Continue with Example Corp' }).click();
    await page.getByRole('heading', { name: 'This request cannot be continued' }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('request'), 'a b+c');
    await page.goto(`${consoleOf(it)}/console/settings`);
    await page.getByText('You sign in with Example Corp.').waitFor();
    for (const text of ['ada@corp.example', 'Ada of Corp', 'staff']) await page.getByText(text, { exact: true }).first().waitFor();
    await accessible(page);
    calm(page, /40[01]/, AT_ISSUER);
    await page.context().close();
  });

  test('refuses, and the sign-in page says why and still knows the wanted page', async () => {
    const page = await visit('/library?q=todo');
    issuer.user = 'mallory';
    await page.getByRole('link', { name: 'Continue with Example Corp' }).click();
    await page.getByRole('alert').filter({ hasText: 'not allowed on this server' }).waitFor();
    await accessible(page);
    issuer.user = null;
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Continue with Example Corp' }).click();
    await page.getByRole('alert').filter({ hasText: 'cancelled or refused' }).waitFor();
    issuer.user = 'ada';
    await page.getByRole('link', { name: 'Continue with Example Corp' }).click();
    await page.getByRole('heading', { name: 'Library', level: 1 }).waitFor();
    assert.equal(new URL(page.url()).search, '?q=todo');
    calm(page, /401/, AT_ISSUER);
    await page.context().close();
  });

  test('signs in again in a new tab while the page waits', async () => {
    issuer.user = 'ada';
    const page = await visit('/chat');
    await page.getByRole('link', { name: 'Continue with Example Corp' }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('half a message');
    const user = await page.evaluate(() => JSON.parse(localStorage.getItem('toolyard.session')).user);
    await it.api('POST', `/api/users/${encodeURIComponent(user)}/sign-out`, { tokens: false, clients: false });
    await again(page).waitFor();
    const opened = page.context().waitForEvent('page');
    await again(page).getByRole('link', { name: 'Continue with Example Corp in a new tab' }).click();
    const tab = await opened;
    await tab.getByText('You can close this tab').waitFor();
    await tab.close();
    await page.evaluate(() => window.dispatchEvent(new Event('focus')));
    await again(page).waitFor({ state: 'detached' });
    await becomes(() => page.getByRole('textbox', { name: 'Message' }).inputValue(), 'half a message');
    calm(page, /401/, AT_ISSUER);
    await page.context().close();
  });
});

describe('in dev mode', () => {
  let it;
  let browser;
  before(async () => {
    [it, browser] = await Promise.all([stage({ ...at, host: 'localhost' }), launch()]);
  });
  after(async () => {
    await browser?.close();
    await it?.close();
  });

  test('the account is shown, and its data can be downloaded', async () => {
    const page = await open(browser, consoleOf(it), '/settings', {});
    await page.getByRole('tab', { name: 'Account', selected: true }).waitFor();
    await page.getByRole('heading', { name: 'Browser sessions' }).waitFor();
    const file = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download my data' }).click();
    assert.equal((await file).suggestedFilename(), `toolyard-data-${USER}.json`);
    await accessible(page);
    calm(page, /401/);
    await page.context().close();
  });
});
