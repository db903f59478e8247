// The settings: tokens, grants and app settings, upstreams, plugin policy, models, about.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { accessible, becomes, calm, flip, launch, open, settled, toasted } from './browser.mjs';
import { fitsPhone, gate } from './kit.mjs';
import { stage } from './stage.mjs';

const TODO = 'com.example.todo';

describe('settings', () => {
  let it;
  let browser;
  let base;
  before(async () => {
    [it, browser] = await Promise.all([
      stage({ port: process.env.STAGE_PORT, auth: 'token', settings: ['net.allow_loopback=true'] }),
      launch(),
    ]);
    base = process.env.CONSOLE_URL ?? it.url;
  });
  after(async () => {
    await browser?.close();
    await it?.close();
  });
  const settings = (tab, options) => open(browser, base, `/settings?tab=${tab}`, { token: it.token, ...options });
  const status = async (token) => (await fetch(`${it.url}/api/me`, { headers: { Authorization: `Bearer ${token}` } })).status;

  test('a token is created, shown once, works, and is revoked', async () => {
    const page = await settings('tokens');
    await page.getByRole('button', { name: 'New token' }).click();
    await accessible(page);
    const form = page.getByRole('dialog', { name: 'New token' });
    await form.getByLabel('Name').fill('laptop');
    await form.getByLabel('User', { exact: true }).fill('ada@example.com');
    await form.getByLabel('Valid for').selectOption('7');
    await form.getByRole('button', { name: 'Create token' }).click();
    const once = page.getByRole('dialog', { name: 'Your new token' });
    const token = await once.getByLabel('Token', { exact: true }).innerText();
    assert.equal(await status(token), 200);
    await accessible(page);
    await once.getByRole('button', { name: 'Done' }).click();
    const rowOf = (name) =>
      page
        .getByRole('list', { name: 'Tokens' })
        .getByRole('listitem')
        .filter({ has: page.getByRole('heading', { name, exact: true }) });
    const row = rowOf('laptop');
    await row.getByText(/For ada@example.com, as user/).waitFor();
    await once.waitFor({ state: 'detached' });
    assert.ok(!(await page.content()).includes(token));
    await accessible(page);

    // What was made with it goes too, and the dialog says so.
    const child = await fetch(`${it.url}/api/tokens`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'made with laptop' }),
    });
    const { token: second } = await child.json();
    assert.equal(await status(second), 200);
    await row.getByRole('button', { name: 'Revoke laptop' }).click();
    await page
      .getByRole('dialog')
      .getByText(/Tokens that were created with it are revoked too/)
      .waitFor();
    await accessible(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.waitFor({ state: 'detached' });
    await rowOf('made with laptop').waitFor({ state: 'detached' });
    assert.deepEqual([await status(token), await status(second)], [401, 401]);
    await flip(page.getByLabel('Show expired and revoked tokens'), true);
    for (const name of ['laptop revoked', 'made with laptop revoked']) await rowOf(name).getByText('revoked', { exact: true }).waitFor();
    calm(page);
    await page.context().close();
  });

  test('tokens are loaded page by page, and all of them are reachable', async () => {
    const made = 130;
    for (let count = 0; count < made; count += 1)
      await it.api('POST', '/api/tokens', { name: `number ${count}`, user: `user${count % 20}@example.com` });
    const page = await settings('tokens');
    const rows = page
      .getByRole('list', { name: 'Tokens' })
      .getByRole('listitem')
      .filter({ hasText: /number \d/ });
    const more = page.getByRole('button', { name: 'Show more' });
    await more.waitFor();
    await becomes(() => rows.count(), 100);
    await accessible(page);
    // The next page comes when the end of the list is near the screen; the button is for those who do not scroll.
    await rows.last().scrollIntoViewIfNeeded();
    await rows.nth(made - 1).waitFor();
    await more.waitFor({ state: 'detached' });
    await becomes(() => rows.count(), made);
    // Both pages are asked again after a revocation.
    await rows
      .filter({ has: page.getByRole('heading', { name: 'number 0', exact: true }) })
      .getByRole('button')
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('heading', { name: 'number 0', exact: true }).waitFor({ state: 'detached' });
    await rows.nth(made - 2).waitFor();
    await becomes(() => rows.count(), made - 1);
    calm(page);
    await page.context().close();
  });

  test('if the newest tokens are all expired or revoked, the page says so and loads older ones', async () => {
    const page = await settings('tokens');
    await page.route('**/api/tokens?*', async (route) => {
      const response = await route.fetch();
      const list = await response.json();
      const over = { revokedAt: '2026-01-01T00:00:00.000Z' };
      await route.fulfill({ response, json: { ...list, tokens: list.tokens.map((one) => ({ ...one, ...over })) } });
    });
    // What there is beyond the newest ones comes by itself; until it is there nobody says that there is none.
    const older = gate();
    await page.route('**/api/tokens?*before=*', older.hold);
    await page.reload();
    await page.getByText('The newest 100 tokens have expired or were revoked.').waitFor();
    assert.equal(await page.getByRole('heading', { name: 'No tokens' }).count(), 0);
    older.open();
    await page.getByRole('heading', { name: 'No tokens' }).waitFor();
    calm(page);
    await page.context().close();
  });

  test('a user cannot choose roles and sees no upstreams', async () => {
    const { token } = await it.api('POST', '/api/tokens', { name: 'ada', user: 'ada@example.com' });
    const page = await settings('upstreams', { token });
    await page.getByRole('tab', { name: 'Account', selected: true }).waitFor();
    assert.equal(await page.getByRole('tab', { name: 'Upstreams' }).count(), 0);
    await page.getByRole('tab', { name: 'Tokens' }).click();
    await page.getByRole('button', { name: 'New token' }).click();
    const form = page.getByRole('dialog', { name: 'New token' });
    await form.getByLabel('Name').waitFor();
    assert.equal(await form.getByLabel('Role').count(), 0);
    calm(page);
    await page.context().close();
  });

  test('a grant is given to an app and revoked, and app settings are saved', async () => {
    await it.api('PATCH', `/api/apps/${TODO}`, {
      settings: [
        { type: 'group', title: 'List' },
        { type: 'toggle', key: 'loud', label: 'Loud', defaultValue: false },
        { type: 'slider', key: 'most', label: 'Most lines', min: 1, max: 9, defaultValue: 5 },
        {
          type: 'select',
          key: 'order',
          label: 'Order',
          options: [
            { label: 'Oldest first', value: 'old' },
            { label: 'Newest first', value: 'new' },
          ],
          defaultValue: 'old',
        },
      ],
    });
    const { token } = await it.api('POST', '/api/tokens', { name: 'ada', user: 'ada@example.com' });
    const page = await settings('grants', { token });
    const app = page.getByRole('list', { name: 'Your apps' }).getByRole('listitem').filter({ hasText: 'To-do list' });
    const grant = app.getByRole('switch', { name: 'Can call tools of other apps' });
    const granted = async () => (await it.api('GET', '/api/installs')).installs[0].assistant;
    await flip(grant, true);
    await toasted(page, 'To-do list can now call the tools of your other apps.');
    assert.equal(await granted(), true);
    await flip(grant, false);
    await toasted(page, 'To-do list can now use only its own tools.');
    assert.equal(await granted(), false);

    await app.getByRole('button', { name: 'Settings of To-do list' }).click();
    await flip(app.getByRole('switch', { name: 'Loud' }), true);
    await app.getByLabel('Most lines').fill('12');
    await app.getByLabel('Order').selectOption('new');
    await app.getByRole('button', { name: 'Save' }).click();
    await app.getByText('At most 9.').waitFor();
    await accessible(page);
    await app.getByLabel('Most lines').fill('7');
    await app.getByRole('button', { name: 'Save' }).click();
    await toasted(page, 'The settings of To-do list were saved.');
    const values = (await it.api('GET', `/api/settings/apps/${TODO}`)).settings.map((one) => one.value);
    assert.deepEqual(values, [undefined, true, 7, 'new']);
    calm(page);
    await page.context().close();
  });

  test('an upstream is added, edited without losing its secret, and removed', async () => {
    const page = await settings('upstreams');
    await page.getByRole('heading', { name: 'No upstreams' }).waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Add an upstream' }).click();
    const form = page.getByRole('dialog', { name: 'Add an upstream' });
    await form.getByLabel('Id').fill('Bad Id');
    await form.getByRole('button', { name: 'Add', exact: true }).click();
    await form.getByText(/1 to 40 characters/).waitFor();
    await accessible(page);
    await form.getByLabel('Id').fill('github');
    await form.getByLabel('Name', { exact: true }).fill('GitHub');
    await form.getByLabel('URL', { exact: true }).fill('http://127.0.0.1:9/mcp');
    await form.getByLabel('Headers').fill('Authorization: Bearer s3cret');
    await form.getByRole('button', { name: 'Add', exact: true }).click();
    const one = page.getByRole('list', { name: 'Upstreams' }).getByRole('listitem').filter({ hasText: 'GitHub' });
    await one.getByText('mcp.github').waitFor();
    await one.getByRole('button', { name: 'Refresh github' }).click();
    await one.getByText('down', { exact: true }).waitFor();
    assert.ok(!(await page.content()).includes('s3cret'));

    await one.getByRole('button', { name: 'Change github' }).click();
    const change = page.getByRole('dialog', { name: 'Change github' });
    await becomes(() => change.getByLabel('Headers').inputValue(), 'Authorization: (sealed)');
    await change.getByLabel('Exclude tools').fill('delete_*');
    await flip(change.getByRole('switch', { name: /For all users/ }), true);
    await change.getByRole('button', { name: 'Save' }).click();
    await one.getByText('for all users', { exact: true }).waitFor();
    const { details } = await it.api('GET', '/api/upstreams/github');
    assert.deepEqual([details.exclude, details.headers], [['delete_*'], { Authorization: '(sealed)' }]);
    await accessible(page);

    await one.getByRole('button', { name: 'Remove github' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await one.waitFor({ state: 'detached' });
    assert.deepEqual((await it.api('GET', '/api/upstreams')).upstreams, []);
    calm(page);
    await page.context().close();
  });

  test('policy, models and about show the current configuration', async () => {
    const page = await settings('plugins');
    await page.getByText(/This server does not run plugins|Users can run plugins/).waitFor();
    await page.getByText('Plugins of one user').waitFor();
    await accessible(page);
    await page.getByRole('tab', { name: 'Models' }).click();
    const models = page.getByRole('list', { name: 'Models', exact: true });
    await models.getByText('scripted/brain').waitFor();
    await models.getByText('default', { exact: true }).waitFor();
    await page
      .getByRole('list', { name: 'Missing' })
      .getByText(/OPENAI_API_KEY/)
      .waitFor();
    await accessible(page);
    await page.getByRole('tab', { name: 'About' }).click();
    await page.getByText('by token', { exact: true }).waitFor();
    const link = await page.getByRole('link', { name: 'the OpenAPI document' }).getAttribute('href');
    assert.equal((await fetch(it.url + link)).status, 200);
    await accessible(page);
    calm(page);
    await page.context().close();
  });

  test('every tab fits on a phone', async () => {
    const page = await settings('tokens', { viewport: { width: 390, height: 844 } });
    for (const name of ['Account', 'Tokens', 'Apps and grants', 'Upstreams', 'Plugin policy', 'Approval policy', 'Models', 'About']) {
      await page.getByRole('tab', { name }).click();
      await page.getByRole('tab', { name, selected: true }).waitFor();
      await settled(page);
      await fitsPhone(page);
    }
    calm(page);
    await page.context().close();
  });
});
