// What happens on the server, as the page tells it: live, in detail, in numbers, and as a file.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { accessible, becomes, calm, launch, open, until } from './browser.mjs';
import { gate, smallApp } from './kit.mjs';
import { stage } from './stage.mjs';

const TODO = 'com.example.todo';

describe('activity', () => {
  let it;
  let browser;
  let base;
  let device;
  before(async () => {
    [it, browser] = await Promise.all([stage({ port: process.env.STAGE_PORT }), launch()]);
    base = process.env.CONSOLE_URL ?? it.url;
    // In dev mode calls need a session: a device that is there.
    device = new WebSocket(`${it.url.replace('http', 'ws')}/glasses-ws?user=ada@example.com`);
    await new Promise((resolve, reject) => Object.assign(device, { onmessage: resolve, onerror: reject }));
  });
  after(async () => {
    device?.close();
    await browser?.close();
    await it?.close();
  });
  const call = (tool, args = {}) =>
    it.api('POST', '/api/tools/execute', { name: `${TODO}:${tool}`, arguments: args }).catch(() => undefined);
  const rows = (page) => page.getByRole('region', { name: 'Calls' }).getByRole('row');
  /** Records are written in batches; a page that is opened later has to find them. */
  const written = (count) => until(async () => (await it.api('GET', '/api/calls?limit=200')).calls.length >= count);

  test('calls appear as they end, can be paused, and have details', async () => {
    const page = await open(browser, base, '/activity');
    await page.getByRole('heading', { name: 'No calls' }).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await accessible(page);
    await call('add_todo', { todo_item: 'buy milk' });
    await rows(page).filter({ hasText: 'add_todo' }).getByText('OK', { exact: true }).waitFor();
    await call('add_todo', {});
    await rows(page).filter({ hasText: 'INVALID_ARGUMENTS' }).waitFor();
    await accessible(page);

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('paused', { exact: true }).waitFor();
    await call('get_todos');
    await written(3);
    assert.equal(await rows(page).filter({ hasText: 'get_todos' }).count(), 0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await rows(page).filter({ hasText: 'get_todos' }).waitFor();

    await page.getByRole('link', { name: 'add_todo' }).first().click();
    await page.getByRole('heading', { name: 'add_todo' }).waitFor();
    await page.getByText('The arguments do not match the input schema.').waitFor();
    const steps = page.getByRole('region', { name: 'Steps' });
    await becomes(() => steps.getByRole('row').count(), 8);
    await page.getByText('the user', { exact: true }).waitFor();
    await page.getByText('REST', { exact: true }).waitFor();
    await accessible(page);
    await page.getByRole('link', { name: 'All calls' }).click();
    await rows(page).filter({ hasText: 'get_todos' }).waitFor();
    calm(page);
    await page.context().close();
  });

  test('a failed call shows the error of the app, in the list and in its details', async () => {
    // Otherwise the user is asked first.
    await it.api('PUT', `/api/approvals/choices/${TODO}:delete_todo`, { choice: 'always' });
    await call('delete_todo', { todo_id: '99' });
    await written(4);
    const page = await open(browser, base, '/activity?tool=com.example.todo%3Adelete_todo');
    const row = rows(page).filter({ hasText: 'delete_todo' });
    await row.getByText(/99/).waitFor();
    const words = await row.locator('.error-message').textContent();
    await page.getByRole('link', { name: 'delete_todo' }).click();
    await page.getByLabel('Error message', { exact: true }).getByText(words).waitFor();
    await accessible(page);
    await page.getByRole('link', { name: 'All calls' }).click();
    await page.waitForURL(/tool=com\.example\.todo/);
    calm(page);
    await page.context().close();
  });

  test('filters apply to the list and to live updates', async () => {
    await call('get_todos');
    await call('no_such_tool');
    const page = await open(browser, base, '/activity');
    await page.getByLabel('Outcome').selectOption('TOOL_NOT_FOUND');
    await rows(page).filter({ hasText: 'no_such_tool' }).first().waitFor();
    await rows(page).filter({ hasText: 'get_todos' }).first().waitFor({ state: 'detached' });
    await page.getByText('live', { exact: true }).waitFor();
    const before = await rows(page).count();
    await call('get_todos');
    await call('no_such_tool');
    await page.getByText('1 new').waitFor();
    await becomes(() => rows(page).count(), before + 1);
    await page.getByRole('button', { name: 'Reset' }).click();
    await page.getByLabel('Tool').selectOption(`${TODO}:get_todos`);
    await rows(page).filter({ hasText: 'no_such_tool' }).first().waitFor({ state: 'detached' });
    await rows(page).filter({ hasText: 'get_todos' }).first().waitFor();
    await page.getByLabel('User').fill('nobody@example.com');
    await page.getByRole('heading', { name: 'No calls' }).waitFor();
    calm(page);
    await page.context().close();
  });

  test('older calls are loaded page by page', async () => {
    const { calls } = await it.api('GET', '/api/calls?limit=200');
    for (let count = 0; count < 60; count += 1) await call('get_todos');
    // All of them: one that is written later would come live, as a row more.
    await written(calls.length + 60);
    const page = await open(browser, base, '/apps');
    // The stream begins while the older calls are on their way: neither takes the place of the other.
    const [listen, older] = [gate(), gate()];
    await page.route('**/api/calls/stream*', listen.hold);
    await page.route('**/api/calls?*before=*', older.hold);
    await page.getByRole('link', { name: 'Activity' }).click();
    await page.getByRole('button', { name: 'Older calls' }).waitFor();
    await becomes(() => rows(page).count(), 51);
    await page.getByRole('button', { name: 'Older calls' }).click();
    await older.reached;
    listen.open();
    await page.getByText('live', { exact: true }).waitFor();
    older.open();
    await rows(page)
      .nth(calls.length + 60)
      .waitFor();
    await page.getByRole('button', { name: 'Older calls' }).waitFor({ state: 'detached' });
    calm(page);
    await page.context().close();
  });

  test('charts have their numbers in tables', async () => {
    await call('get_todos');
    await call('add_todo', {});
    await written(2);
    const page = await open(browser, base, '/activity');
    await page.getByRole('tab', { name: 'Charts' }).click();
    await page.getByRole('img', { name: 'Calls over time' }).waitFor();
    await page.getByRole('img', { name: 'Share of failed calls' }).waitFor();
    await page.getByRole('img', { name: 'Calls by duration' }).waitFor();
    await page.getByRole('list', { name: 'Outcomes' }).getByText('INVALID_ARGUMENTS').waitFor();
    await page.getByRole('region', { name: 'Time of each step' }).getByText('invoke').waitFor();
    await page.getByRole('combobox', { name: 'By', exact: true }).selectOption('tool');
    await page.getByText('As a table').first().click();
    await page.getByRole('columnheader', { name: `${TODO}:get_todos` }).waitFor();
    await accessible(page);
    // Errors: a line for each tool in the colour that it has above, and one for all of them.
    const drawing = (name) => page.locator('figure').filter({ has: page.getByRole('img', { name }) });
    const [calls, errors] = [drawing('Calls over time'), drawing('Share of failed calls')];
    const legend = (figure) =>
      figure.locator('.legend li').evaluateAll((list) => list.map((one) => `${one.textContent} ${one.firstElementChild.className}`));
    await until(async () => (await legend(calls)).length > 1);
    const named = await legend(calls);
    await becomes(() => legend(errors), [...named, 'total swatch total']);
    await becomes(() => errors.locator('svg .line').count(), named.length + 1);
    await errors.getByText('As a table').click();
    await becomes(async () => {
      const heads = await errors.getByRole('columnheader').allInnerTexts();
      return [heads.at(-1), heads.length];
    }, ['total', named.length + 2]);
    await errors.getByRole('cell', { name: '100 %' }).first().waitFor();
    await accessible(page);
    calm(page);
    await page.context().close();
  });

  test('calls and totals are exported as CSV', async () => {
    await call('get_todos');
    await written(1);
    const page = await open(browser, base, '/activity');
    const save = async (name) => {
      const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
      return { name: file.suggestedFilename(), lines: (await readFile(await file.path(), 'utf8')).trim().split(/\r?\n/) };
    };
    const calls = await save('Calls as CSV');
    assert.match(calls.name, /^toolyard-calls-\d{4}-\d\d-\d\d\.csv$/);
    assert.match(calls.lines[0], /tool/i);
    assert.ok(
      calls.lines.some((line) => line.includes(`${TODO}:get_todos`) && line.includes('OK')),
      calls.lines.join('\n'),
    );
    const totals = await save('Totals as CSV');
    assert.ok(
      totals.lines.some((line) => line.includes(`${TODO}:get_todos`)),
      totals.lines.join('\n'),
    );
    calm(page);
    await page.context().close();
  });

  test('upstreams show their status', async () => {
    await it.api('POST', '/api/upstreams', { id: 'broken', name: 'Broken', url: 'http://127.0.0.1:9/mcp' });
    const page = await open(browser, base, '/activity');
    await page.getByRole('tab', { name: 'Upstreams' }).click();
    const one = page.getByRole('list', { name: 'Upstreams' }).getByRole('listitem').filter({ hasText: 'Broken' });
    await one.getByRole('button', { name: 'Refresh' }).click();
    await one.getByText('down', { exact: true }).waitFor();
    await one.getByText(/no connection/).waitFor();
    await accessible(page);
    await it.api('DELETE', '/api/upstreams/broken');
    calm(page);
    await page.context().close();
  });

  test('an unknown call shows "No such call"', async () => {
    const page = await open(browser, base, '/activity/01a1e3d8d6719b86e65664e4309618c2');
    await page.getByRole('heading', { name: 'No such call' }).waitFor();
    await accessible(page);
    calm(page, /404/);
    await page.context().close();
  });
});

describe("activity of a developer's apps", () => {
  const DEVELOPER = 'dora@example.com';
  let it;
  let browser;
  let base;
  let token;
  let app;
  before(async () => {
    [it, browser, app] = await Promise.all([
      stage({ port: process.env.STAGE_PORT, auth: 'token', settings: ['net.allow_loopback=true'] }),
      launch(),
      smallApp(),
    ]);
    base = process.env.CONSOLE_URL ?? it.url;
    ({ token } = await it.api('POST', '/api/tokens', { name: 'dora', user: DEVELOPER, role: 'developer' }));
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const tools = [{ name: 'echo', description: 'Says it again.', inputSchema: { type: 'object', properties: {} } }];
    const made = await fetch(`${it.url}/api/apps`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ packageName: 'com.dora.echo', name: 'Echo', publicUrl: app.url, kind: 'tools-only', tools }),
    });
    assert.equal(made.status, 201, await made.text());
    await it.api('PUT', '/api/installs/com.dora.echo');
  });
  after(async () => {
    await browser?.close();
    await it?.close();
    app?.close();
  });
  /** Of ada, who is not the developer. */
  const call = (name) => it.api('POST', '/api/tools/execute', { name, arguments: {} }).catch(() => undefined);
  const rows = (page) => page.getByRole('region', { name: 'Calls' }).getByRole('row');

  test('the scope applies to the list, live updates and details, and no user is named', async () => {
    await call('com.dora.echo:echo');
    await call(`${TODO}:get_todos`);
    const page = await open(browser, base, '/activity', { token });
    await page.getByRole('heading', { name: 'No calls' }).waitFor();
    await page.getByLabel('Scope').selectOption('apps');
    await page.getByText('Every call of your apps, by any user.', { exact: false }).waitFor();
    await rows(page).filter({ hasText: 'echo' }).waitFor();
    await becomes(() => rows(page).count(), 2, 'the head and one call');
    await page.getByText('live', { exact: true }).waitFor();
    await call(`${TODO}:get_todos`);
    await call('com.dora.echo:echo');
    await page.getByText('1 new').waitFor();
    await becomes(() => rows(page).count(), 3);
    await accessible(page);
    assert.ok(!(await page.locator('main').innerText()).includes('ada@example.com'));

    await page.getByRole('link', { name: 'echo' }).first().click();
    await page.getByRole('heading', { name: 'echo' }).waitFor();
    await page.getByText('not shown to developers').first().waitFor();
    assert.ok(!(await page.locator('main').innerText()).includes('ada@example.com'));
    await accessible(page);
    await page.reload();
    await page.getByText('not shown to developers').first().waitFor();
    await page.getByRole('link', { name: 'All calls' }).click();
    await rows(page).filter({ hasText: 'echo' }).first().waitFor();
    await page.getByLabel('Scope').selectOption('mine');
    await page.getByRole('heading', { name: 'No calls' }).waitFor();
    calm(page);
    await page.context().close();
  });

  test('without the scope, details of calls by other users are not found', async () => {
    await call('com.dora.echo:echo');
    const id = await until(async () => (await it.api('GET', '/api/calls?app=com.dora.echo')).calls[0]?.id);
    const page = await open(browser, base, `/activity/${id}`, { token });
    await page.getByRole('heading', { name: 'No such call' }).waitFor();
    calm(page, /404/);
    await page.context().close();
  });
});
