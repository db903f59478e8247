// The user's tools: on and off, hidden with the reason, what changed since last seen.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, calm, flip, isOn, launch, open, toasted } from './browser.mjs';
import { at, consoleOf, fitsPhone, live, PHONE, wear } from './kit.mjs';
import { stage } from './stage.mjs';

const TODO = 'com.example.todo';
let it;
let browser;

const visit = (more) => open(browser, consoleOf(it), '/tools', more);
const names = async () => (await it.api('GET', '/api/tools')).tools.map(({ name }) => name);

before(async () => {
  [it, browser] = await Promise.all([stage(at), launch()]);
});
after(async () => {
  await browser?.close();
  await it?.close();
});

test('a user without glasses has tools', async () => {
  const page = await visit();
  await page.getByRole('region', { name: 'To-do list' }).getByText('Add a todo', { exact: true }).waitFor();
  await accessible(page);
  calm(page);
  await page.context().close();
});

test('a disabled tool is hidden from assistants until it is enabled again', async () => {
  await live(it);
  const page = await visit();
  const group = page.getByRole('region', { name: 'To-do list' });
  await group.getByText('Add a todo', { exact: true }).click();
  await group.getByRole('row', { name: /todo_item.*text.*The to-do item text/ }).waitFor();
  await accessible(page);
  const toggle = group.getByRole('switch', { name: 'Delete a todo', exact: true });
  await flip(toggle, false);
  await toasted(page, 'Delete a todo is off.');
  assert.ok(!(await names()).includes(`${TODO}:delete_todo`));
  await page.reload();
  await isOn(toggle, false);
  await group.getByText('Delete a to-do item for good').waitFor();
  await page.getByLabel('Which tools to show').selectOption('off');
  await group.getByText('Add a todo', { exact: true }).waitFor({ state: 'detached' });
  await flip(toggle, true);
  await toasted(page, 'Delete a todo is on.');
  assert.ok((await names()).includes(`${TODO}:delete_todo`));
  calm(page);
  await page.context().close();
});

test('a tool can be disabled with the keyboard', async () => {
  await live(it);
  const page = await visit();
  const toggle = page.getByRole('switch', { name: 'Reopen a todo', exact: true });
  await toggle.focus();
  await page.keyboard.press('Space');
  await toasted(page, 'Reopen a todo is off.');
  // The focus stays where it was.
  await page.keyboard.press('Space');
  await toasted(page, 'Reopen a todo is on.');
  assert.ok((await names()).includes(`${TODO}:mark_todo_incomplete`));
  await page.context().close();
});

test('new, changed and removed tools are marked until the user has seen them', async () => {
  await live(it);
  const page = await visit();
  const group = page.getByRole('region', { name: 'To-do list' });
  await group.getByText('Add a todo', { exact: true }).waitFor();
  await page.getByText('Since your last visit').waitFor({ state: 'detached' });
  const { tools, prompts, resources } = await it.api('GET', `/api/apps/${TODO}/tools`);
  const changed = tools
    .filter(({ name }) => name !== 'mark_todo_incomplete')
    .map((tool) => (tool.name === 'get_todos' ? { ...tool, description: 'Another' } : tool));
  await it.api('POST', `/api/apps/${TODO}/tools`, {
    tools: [...changed, { name: 'fresh', title: 'Fresh one', inputSchema: { type: 'object' } }],
    prompts,
    resources,
  });
  await page.reload();
  await page.getByText('1 new, 1 changed, 1 removed.').waitFor();
  await page.getByText(`Removed: ${TODO}:mark_todo_incomplete`).waitFor();
  await group.getByRole('listitem').filter({ hasText: 'Fresh one' }).getByText('New', { exact: true }).waitFor();
  await group.getByRole('listitem').filter({ hasText: 'Get the todos' }).getByText('Changed', { exact: true }).waitFor();
  await accessible(page);
  await page.getByRole('button', { name: 'Mark as seen' }).click();
  await page.getByText('Since your last visit').waitFor({ state: 'detached' });
  await page.reload();
  await group.getByText('Fresh one', { exact: true }).waitFor();
  assert.equal(await page.getByText('Since your last visit').count(), 0);
  await it.api('POST', `/api/apps/${TODO}/tools`, { tools, prompts, resources });
  calm(page);
  await page.context().close();
});

test('hidden tools show the reason, search finds tools, and the page fits on a phone', async () => {
  await live(it);
  await it.api('POST', '/api/apps', {
    packageName: 'com.example.camera',
    name: 'Snapshots',
    hardwareRequirements: [{ type: 'CAMERA', level: 'REQUIRED' }],
    tools: [{ name: 'take_picture', title: 'Take a picture', description: 'Takes one now', inputSchema: { type: 'object' } }],
  });
  await it.api('PUT', '/api/installs/com.example.camera');
  const page = await visit(PHONE);
  await wear(page, 'Even Realities G1');
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'Library' }).click();
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'Tools' }).click();
  await page.getByText('Hidden: needs a camera; Even Realities G1 has none').waitFor();
  await page.getByRole('searchbox', { name: 'Search tools' }).fill('picture');
  await page.getByText('Take a picture', { exact: true }).waitFor();
  await page.getByText('Add a todo', { exact: true }).waitFor({ state: 'detached' });
  await fitsPhone(page);
  await accessible(page);
  calm(page);
  await page.context().close();
});
