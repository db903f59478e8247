// Where the focus is after a dialog whose opener is gone: never nowhere.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { calm, flip, launch, open } from './browser.mjs';
import { ask, at, consoleOf, gate } from './kit.mjs';
import { stage } from './stage.mjs';

describe('focus after a dialog', () => {
  let it;
  let browser;
  before(async () => {
    [it, browser] = await Promise.all([stage({ ...at, auth: 'token', settings: ['net.allow_loopback=true'] }), launch()]);
  });
  after(async () => {
    await browser?.close();
    await it?.close();
  });
  const visit = (path) => open(browser, consoleOf(it), path, { token: it.token });
  const make = (name) => it.api('POST', '/api/tokens', { name, user: 'ada@example.com' });
  /** By the keyboard, as those need it who depend on the focus. */
  async function confirm(page, opener, action) {
    await opener.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: action }).focus();
    await page.keyboard.press('Enter');
  }
  const focusOn = (page, selector, text) =>
    page.waitForFunction(
      ([which, words]) => document.activeElement?.matches(which) && document.activeElement.textContent.includes(words),
      [selector, text],
    );

  test('moves to the list if the row is deleted later', async () => {
    await make('goes');
    await make('stays');
    const page = await visit('/settings?tab=tokens');
    await confirm(page, page.getByRole('button', { name: 'Revoke goes' }), 'Revoke');
    await page.getByRole('button', { name: 'Revoke goes' }).waitFor({ state: 'detached' });
    await focusOn(page, 'ul[aria-label=Tokens]', 'stays');
    calm(page);
    await page.context().close();
  });

  test('moves to the row if only its button is removed', async () => {
    await make('is kept');
    const page = await visit('/settings?tab=tokens');
    await flip(page.getByLabel('Show expired and revoked tokens'), true);
    await confirm(page, page.getByRole('button', { name: 'Revoke is kept' }), 'Revoke');
    await focusOn(page, 'li', 'is kept');
    calm(page);
    await page.context().close();
  });

  test('moves to the empty list if the last row is removed with its dialog', async () => {
    await it.api('POST', '/api/upstreams', { id: 'gone', name: 'Gone', url: 'http://127.0.0.1:9/mcp' });
    const page = await visit('/settings?tab=upstreams');
    await confirm(page, page.getByRole('button', { name: 'Remove gone' }), 'Remove');
    await page.getByRole('heading', { name: 'No upstreams' }).waitFor();
    await page.waitForFunction(
      () => document.activeElement !== document.body && document.querySelector('main').contains(document.activeElement),
    );
    calm(page);
    await page.context().close();
  });

  test('moves to the page title if nothing of the list is left', async () => {
    await make('the only one');
    const page = await visit('/library');
    await page.route('**/api/tokens?*', async (route) => {
      const response = await route.fetch();
      const { tokens } = await response.json();
      await route.fulfill({ response, json: { tokens: tokens.filter(({ name }) => name === 'the only one') } });
    });
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('tab', { name: 'Tokens' }).click();
    await confirm(page, page.getByRole('button', { name: 'Revoke the only one' }), 'Revoke');
    await page.getByRole('heading', { name: 'No tokens' }).waitFor();
    await focusOn(page, 'h1', 'Settings');
    calm(page);
    await page.context().close();
  });

  test('stays where the page puts it', async () => {
    const page = await visit('/chat');
    await ask(page, 'hello');
    await page.getByText('You said: hello').waitFor();
    await confirm(page, page.getByRole('button', { name: 'Delete' }), 'Delete');
    await page.getByRole('heading', { name: 'New conversation' }).waitFor();
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Message');
    // The server is told to end an answer that it may have ended already.
    calm(page, /404/);
    await page.context().close();
  });

  test('stays where the user moved it meanwhile', async () => {
    await make('slow');
    const page = await visit('/settings?tab=tokens');
    const row = page.getByRole('button', { name: 'Revoke slow' });
    await row.waitFor();
    const list = gate();
    await page.route('**/api/tokens?*', list.hold);
    await confirm(page, row, 'Revoke');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await list.reached;
    // Where nothing is, which is a place as well.
    await page.mouse.click(640, 20);
    list.open();
    await row.waitFor({ state: 'detached' });
    // Whoever gives the focus back does so when the row is drawn away, in the same turn.
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'BODY');
    calm(page);
    await page.context().close();
  });
});
