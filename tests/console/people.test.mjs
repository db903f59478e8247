// People: operators invite, change, disable, sign out and delete users.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { accessible, becomes, calm, flip, launch, open, settled, toasted } from './browser.mjs';
import { at, consoleOf, fitsPhone, PHONE } from './kit.mjs';
import { enterPassword, invite, menu, setPassword, signInPage, STAGE, visitByLink } from './sign-in-kit.mjs';
import { stage } from './stage.mjs';

const BOSS = 'chief@example.com';
const again = (page) => page.getByRole('dialog', { name: 'Sign in again' });
const rows = (page) => page.getByRole('region', { name: 'People' }).getByRole('row');
const row = (page, text) => rows(page).filter({ hasText: text });
const button = (scope, name) => scope.getByRole('button', { name, exact: true });

describe('people', () => {
  let it;
  let browser;
  /** An operator who is signed in in a browser. */
  let boss;
  before(async () => {
    [it, browser] = await Promise.all([stage({ ...at, ...STAGE }), launch()]);
    boss = await visitByLink(browser, consoleOf(it), await invite(it, BOSS, { role: 'operator', name: 'The Chief' }));
    await setPassword(boss);
  });
  after(async () => {
    await browser?.close();
    await it?.close();
  });
  /** A page for the operator, with a session of its own. */
  async function visit(path, options) {
    const page = await open(browser, consoleOf(it), path, { user: null, ...options });
    await enterPassword(page, BOSS);
    return page;
  }
  const visitPerson = (user, options) => visit(`/people/${encodeURIComponent(user)}`, options);

  test('an operator invites a user, who signs in with the link', async () => {
    const page = await visit('/library');
    await page.getByRole('link', { name: 'People' }).click();
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor();
    await accessible(page);
    await button(page, 'Invite a user').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('User ID').fill('new@example.com');
    await becomes(() => dialog.getByLabel('Email').inputValue(), 'new@example.com');
    await dialog.getByLabel('Name').fill('New User');
    await dialog.getByLabel('Role').selectOption('developer');
    await dialog.getByLabel('Groups').fill('staff,  math,staff');
    await accessible(page);
    await button(dialog, 'Create account').click();
    await dialog.getByText('Copy this link now').waitFor();
    await accessible(page);
    const link = await dialog.getByLabel('Sign-in link', { exact: true }).innerText();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await dialog.getByRole('button', { name: 'Copy Sign-in link' }).click();
    await becomes(() => page.evaluate(() => navigator.clipboard.readText()), link);
    await button(dialog, 'Done').click();
    for (const text of ['New User', 'developer', 'math, staff', 'never'])
      await row(page, 'new@example.com').getByText(text, { exact: true }).waitFor();

    // The same id again.
    await button(page, 'Invite a user').click();
    await dialog.getByLabel('User ID').fill('new@example.com');
    await button(dialog, 'Create account').click();
    await dialog.getByRole('alert').waitFor();
    await button(dialog, 'Cancel').click();

    const guest = await visitByLink(browser, consoleOf(it), link);
    await menu(guest).filter({ hasText: 'new@example.com' }).waitFor();
    assert.equal(await guest.getByRole('link', { name: 'People' }).count(), 0);
    await guest.goto(`${consoleOf(it)}/console/people`);
    await guest.getByRole('heading', { name: 'Only for operators' }).waitFor();
    calm(page, /401|409/);
    await Promise.all([page, guest].map((one) => one.context().close()));
  });

  test('the list is searched and paged', async () => {
    for (let place = 0; place < 60; place += 1)
      await it.api('POST', '/api/users', { userId: `crowd${String(place).padStart(2, '0')}`, name: `Member ${place}` });
    const page = await visit('/people?q=crowd');
    await becomes(() => row(page, 'crowd').count(), 50);
    await page.getByRole('button', { name: 'Show more' }).scrollIntoViewIfNeeded();
    await becomes(() => row(page, 'crowd').count(), 60);
    await page.getByRole('searchbox', { name: 'Search people' }).fill('Member 59');
    await becomes(() => row(page, 'crowd').count(), 1);
    await page.waitForURL(/q=Member/);
    await page.getByRole('searchbox', { name: 'Search people' }).fill('nobody like this');
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor();
    await accessible(page);
    calm(page, /401/);
    await page.context().close();
  });

  test('a profile is changed, and unsaved changes are not lost', async () => {
    await it.api('POST', '/api/users', { userId: 'edited', name: 'Before' });
    const page = await visitPerson('edited');
    await page.getByRole('heading', { name: 'Before', level: 1 }).waitFor();
    await accessible(page);
    await page.getByLabel('Name', { exact: true }).fill('After');
    await page.getByLabel('Groups').fill('staff');
    await page.getByRole('link', { name: 'All people' }).click();
    await button(page.getByRole('dialog', { name: 'Leave without saving?' }), 'Cancel').click();
    await button(page, 'Save').click();
    await toasted(page, 'The changes to edited were saved.');
    await page.getByRole('heading', { name: 'After', level: 1 }).waitFor();
    const { name, groups } = await it.api('GET', '/api/users/edited');
    assert.deepEqual([name, groups], ['After', ['staff']]);
    await page.getByRole('link', { name: 'All people' }).click();
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor();
    calm(page, /401/);
    await page.context().close();
  });

  test('an account is disabled and enabled', async () => {
    const guest = await visitByLink(browser, consoleOf(it), await invite(it, 'blocked'));
    await setPassword(guest);
    const page = await visitPerson('blocked');
    await button(page, 'Disable account').click();
    await accessible(page);
    await button(page.getByRole('dialog', { name: 'Disable blocked?' }), 'Disable account').click();
    await page.getByText('disabled', { exact: true }).waitFor();
    await again(guest).waitFor();
    await enterPassword(again(guest), 'blocked');
    await again(guest).getByRole('alert').waitFor();
    await button(page, 'Create a sign-in link').and(page.locator(':disabled')).waitFor();
    await button(page, 'Enable account').click();
    await page.getByText('active', { exact: true }).waitFor();
    await enterPassword(again(guest), 'blocked');
    await again(guest).waitFor({ state: 'detached' });
    calm(page, /401/);
    await Promise.all([page, guest].map((one) => one.context().close()));
  });

  test('a user is signed out everywhere, and tokens are revoked', async () => {
    const guest = await visitByLink(browser, consoleOf(it), await invite(it, 'everywhere'));
    for (const name of ['laptop', 'phone']) await it.api('POST', '/api/tokens', { name, user: 'everywhere' });
    const page = await visitPerson('everywhere');
    const tokens = page.getByRole('list', { name: 'Tokens' }).getByRole('listitem');
    await becomes(() => tokens.count(), 2);
    await page.getByRole('button', { name: 'Revoke laptop' }).click();
    await button(page.getByRole('dialog'), 'Revoke').click();
    await becomes(() => tokens.count(), 1);
    await page.getByText('No connected clients.').waitFor();
    await button(page, 'Sign out everywhere').click();
    const dialog = page.getByRole('dialog', { name: 'Sign out everywhere everywhere?' });
    await flip(dialog.getByLabel(/^Also revoke tokens/), true);
    await accessible(page);
    await button(dialog, 'Sign out everywhere').click();
    await toasted(page, 'everywhere was signed out everywhere.');
    await page.getByText('No valid tokens.').waitFor();
    await again(guest).waitFor();
    calm(page, /401/);
    await Promise.all([page, guest].map((one) => one.context().close()));
  });

  test('a user gets another link, and is downloaded and deleted', async () => {
    await it.api('POST', '/api/users', { userId: 'leaving' });
    const page = await visitPerson('leaving');
    await button(page, 'Create a sign-in link').click();
    const shown = page.getByRole('dialog', { name: 'Sign-in link' });
    const link = await shown.getByLabel('Sign-in link', { exact: true }).innerText();
    await button(shown, 'Done').click();
    const guest = await visitByLink(browser, consoleOf(it), link);
    const file = page.waitForEvent('download');
    await button(page, 'Download the data').click();
    const saved = await file;
    assert.equal(saved.suggestedFilename(), 'toolyard-data-leaving.json');
    assert.ok((await readFile(await saved.path(), 'utf8')).includes('leaving'));
    await button(page, 'Delete the user').click();
    const dialog = page.getByRole('dialog', { name: 'Delete leaving?' });
    await accessible(page);
    await dialog.getByLabel('User ID').fill('leaving');
    await button(dialog, 'Delete the user').click();
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor();
    await toasted(page, 'leaving was deleted.');
    await again(guest).or(signInPage(guest)).waitFor();
    await assert.rejects(it.api('GET', '/api/users/leaving'), /404/);
    calm(page, /40[14]/);
    await Promise.all([page, guest].map((one) => one.context().close()));
  });

  test('operators cannot disable or delete themselves', async () => {
    const page = await visitPerson(BOSS);
    await page.getByText('This is you.').waitFor();
    for (const name of ['Disable account', 'Delete the user']) assert.equal(await button(page, name).count(), 0);
    calm(page, /401/);
    await page.context().close();
  });

  test('a user without an account gets one', async () => {
    await it.api('PUT', '/api/installs/com.example.todo', undefined, 'tokens-only');
    const page = await visitPerson('tokens-only');
    await page.getByRole('heading', { name: 'No account' }).waitFor();
    await accessible(page);
    await button(page, 'Create an account').click();
    await button(page.getByRole('dialog'), 'Create account').click();
    await button(page.getByRole('dialog'), 'Done').click();
    await page.getByRole('link', { name: 'To-do list' }).waitFor();
    calm(page, /40[14]/);
    await page.context().close();
  });

  test('on a phone, with the dark theme', async () => {
    const long = `${'w'.repeat(60)}@example.com`;
    await it.api('POST', '/api/users', { userId: long, name: 'W'.repeat(100), groups: ['g'.repeat(60)] });
    const page = await visit(`/people?q=www`, PHONE);
    await row(page, long).waitFor();
    await settled(page);
    await fitsPhone(page);
    await accessible(page);
    await page.getByRole('link', { name: long }).click();
    await button(page, 'Sign out everywhere').waitFor();
    await settled(page);
    await fitsPhone(page);
    await accessible(page);
    calm(page, /401/);
    await page.context().close();
  });
});
