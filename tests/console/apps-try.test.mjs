// Trying a tool: as somebody, woken or not, with progress, result and times.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { accessible, becomes, calm, launch, open, settled } from './browser.mjs';
import { at, consoleOf, fitsPhone, live, PHONE, smallApp } from './kit.mjs';
import { stage } from './stage.mjs';

const TODO = 'com.example.todo';
let it;
let browser;
let app;

const visit = (path, more) => open(browser, consoleOf(it), path, more);

before(async () => {
  [it, browser, app] = await Promise.all([stage(at), launch(), smallApp()]);
  await live(it);
});
after(async () => {
  await browser?.close();
  app?.close();
  await it?.close();
});

test('Try it: a stopped app is started and timings are shown; the curl command works', async () => {
  const page = await visit(`/apps/${TODO}?tab=try`);
  await page.getByLabel('todo_item').fill("buy Ada's milk");
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText(/The app was asleep and was woken in/).waitFor();
  await page.getByLabel('result', { exact: true }).getByText("buy Ada's milk").waitFor();
  await becomes(() => page.getByRole('row').count(), 7);
  await page
    .getByRole('row')
    .nth(3)
    .and(page.getByRole('row', { name: /Wake the app\s*[\d.]+\s(ms|s)/ }))
    .waitFor();
  await accessible(page);
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('The app was already running.').waitFor();
  await page.getByText('As a curl command').click();
  const command = await page.getByLabel('curl command', { exact: true }).textContent();
  // A shell takes the command apart; the request is made here, so that no curl is needed.
  const parts = execFileSync('/bin/sh', ['-c', `curl() { printf '%s\\0' "$@"; }; ${command}`], { encoding: 'utf8' }).split('\0');
  const [address, , type, , user, , body] = parts;
  const headers = Object.fromEntries([type, user].map((line) => line.split(': ')));
  const told = await (await fetch(address, { method: 'POST', headers, body })).json();
  assert.equal(told.success, true);
  assert.match(told.content, /buy Ada's milk/);
  calm(page);
  await page.context().close();
});

test('Try it: as another user without glasses, with arguments as JSON', async () => {
  await it.api('PUT', `/api/installs/${TODO}`, undefined, 'bob@example.com');
  const page = await visit(`/apps/${TODO}?tab=try`);
  await page.getByLabel('Tool').selectOption('get_todos');
  await page.getByRole('button', { name: 'JSON', exact: true }).click();
  await page.getByLabel('Arguments as JSON').fill('{\n  "include_completed": tru\n}');
  await page.getByText('Line 2, column 24: expected a value, found `t`.').waitFor();
  await page.getByLabel('Arguments as JSON').fill('{ "include_completed": true }');
  await page.getByRole('button', { name: 'Form', exact: true }).click();
  await becomes(() => page.getByLabel('include_completed').inputValue(), 'true');
  await page.getByLabel('As user').selectOption('bob@example.com');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('There are no todos on your list.').waitFor();
  await page.getByRole('rowheader', { name: 'Run the tool' }).waitFor();
  calm(page);
  await page.context().close();
});

test('Try it: progress of a call is shown', async () => {
  await it.api('POST', '/api/apps', {
    packageName: 'com.example.slow',
    name: 'Slow',
    publicUrl: app.url,
    kind: 'tools-only',
    tools: [{ name: 'slow', inputSchema: { type: 'object' } }],
  });
  await it.api('PUT', '/api/installs/com.example.slow');
  const page = await visit('/apps/com.example.slow?tab=try');
  await page.getByText('This tool takes no arguments.').waitFor();
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('half way').waitFor();
  await page.getByText('done slowly').waitFor();
  calm(page);
  await page.context().close();
});

const ORDER = {
  name: 'order',
  title: 'Order',
  inputSchema: {
    type: 'object',
    properties: {
      lines: {
        type: 'array',
        minItems: 1,
        items: {
          type: 'object',
          properties: {
            article: { type: 'string', pattern: '^[a-z]+$' },
            count: { type: 'integer', default: 1, minimum: 1 },
            size: { enum: ['S', 'L'] },
          },
          required: ['article', 'count'],
        },
      },
      address: { type: 'object', properties: { city: { type: 'string' }, zip: { type: 'string' } }, required: ['city'] },
      extra: { oneOf: [{ type: 'string' }, { type: 'number' }] },
    },
    required: ['lines'],
  },
};

test('Try it: objects and lists of objects are added, moved and removed, with defaults, and errors appear at their field', async () => {
  await it.api('POST', '/api/apps', {
    packageName: 'com.example.shop',
    name: 'Shop',
    publicUrl: app.url,
    kind: 'tools-only',
    tools: [ORDER],
  });
  await it.api('PUT', '/api/installs/com.example.shop');
  const page = await visit('/apps/com.example.shop?tab=try');
  const line = (number) => page.getByRole('group', { name: `lines ${number}`, exact: true });
  // One line is needed, so that there is one.
  await becomes(() => line(1).getByLabel('count').inputValue(), '1');
  await page.getByRole('button', { name: 'Add to lines' }).click();
  await line(2).getByLabel('article').fill('shoes');
  await line(2).getByLabel('size').selectOption({ label: 'L' });
  await line(2).getByLabel('count').fill('0');
  await page.getByLabel('zip').fill('10115');
  await page.getByRole('button', { name: 'Run' }).click();
  await line(1).getByText('This field is required.').waitFor();
  await line(2).getByText('At least 1.').waitFor();
  await page.getByRole('group', { name: 'address (optional)' }).getByText('This field is required.').waitFor();
  await accessible(page);
  await line(2).getByLabel('count').fill('3');
  await page.getByLabel('city').fill('Berlin');
  await line(1).getByLabel('article').fill('Hats!');
  await page.getByRole('button', { name: 'Run' }).click();
  // What only the server can say stands at the field as well.
  await line(1)
    .getByText(/expected a text that matches/)
    .waitFor();
  await page.getByText('INVALID_ARGUMENTS').waitFor();
  await line(1).getByLabel('article').fill('hats');
  await page.getByRole('button', { name: 'Move lines 2 up' }).click();
  await page.getByLabel(/^extra/).fill('5');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('OK', { exact: true }).waitFor();
  const sent = app.asked.at(-1).arguments;
  assert.deepEqual(sent, {
    lines: [
      { article: 'shoes', count: 3, size: 'L' },
      { article: 'hats', count: 1 },
    ],
    address: { city: 'Berlin', zip: '10115' },
    extra: 5,
  });
  await page.getByRole('button', { name: 'Remove lines 1' }).click();
  await line(2).waitFor({ state: 'detached' });
  await becomes(() => line(1).getByLabel('article').inputValue(), 'hats');
  calm(page);
  await page.context().close();
});

test('Try it: an unreachable app shows how to fix it', async () => {
  await it.api('POST', '/api/apps', {
    packageName: 'com.example.down',
    name: 'Down',
    publicUrl: 'http://127.0.0.1:9',
    kind: 'tools-only',
    tools: [{ name: 'x', inputSchema: { type: 'object' } }],
  });
  await it.api('PUT', '/api/installs/com.example.down');
  const page = await visit('/apps/com.example.down?tab=try');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText(/No response from http:\/\/127\.0\.0\.1:9/).waitFor();
  await page.getByText(/Is the app running\?/).waitFor();
  await page.getByText(/the port is 9\./).waitFor();
  await page.getByLabel('request to try', { exact: true }).getByText("curl -i 'http://127.0.0.1:9/tool'").waitFor();
  await accessible(page);
  calm(page);
  await page.context().close();
});

test('on a phone nothing overflows', async () => {
  for (const path of [`/apps/${TODO}?tab=try`]) {
    const page = await visit(path, PHONE);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settled(page);
    await fitsPhone(page);
    await accessible(page);
    await page.context().close();
  }
});
