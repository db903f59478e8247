// Plugins of the browser: whom it believes, what it asks before it installs, and that code cannot get out of its sandbox.
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { accessible, becomes, calm, disabled, flip, isOn, launch, open, until } from './browser.mjs';
import { ask, callInChat } from './kit.mjs';
import { curated, newKey, plugin, signed, withTool } from './plugin-kit.mjs';
import { stage } from './stage.mjs';

let it, browser, trust, url;
before(async () => {
  trust = await curated();
  it = await stage({ config: trust.config, ...(process.env.CONSOLE_PORT && { port: Number(process.env.CONSOLE_PORT) }) });
  url = process.env.CONSOLE_URL ?? it.url;
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await it?.close();
  if (trust) await rm(trust.dir, { recursive: true, force: true });
});

/** A page of the console, with what the browser has kept from before. */
async function visit(path, kept = {}, options = {}) {
  const page = await open(browser, url, path, options);
  // Until it knows whom to believe: what it writes then would be written over what the test puts there.
  await page.getByText(path === '/plugins' ? 'Root key' : 'What can I do for you?').waitFor();
  await page.evaluate((items) => Object.entries(items).forEach(([key, value]) => localStorage.setItem(key, value)), kept);
  if (Object.keys(kept).length > 0) await page.reload();
  return page;
}

/** Opens the review of a manifest, by pasting it. */
async function paste(page, manifest) {
  await page.getByRole('button', { name: 'Add a plugin' }).first().click();
  await page.getByLabel('Or paste it').fill(typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
  await page.getByRole('button', { name: 'Review' }).click();
  return page.getByRole('dialog');
}

/** `agrees`: it takes the place of one that may less, or that somebody else signed. */
async function installSigned(page, manifest, { agrees = false } = {}) {
  const dialog = await paste(page, signed(manifest, trust.curator));
  await dialog.getByText('Signed by The curators of this server').waitFor();
  if (agrees) await flip(dialog.getByLabel('I agree to the changes'), true);
  await dialog.getByRole('button', { name: /Allow and/ }).click();
  await page.getByRole('article', { name: manifest.name }).getByText('Signed by').waitFor();
}

const toPage = (page, name) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();

const call = (page, tool, args) => callInChat(it, page, tool, args);

test('a signed plugin is installed from a file, runs in a chat with a server tool, is disabled and uninstalled', async () => {
  const page = await visit('/plugins');
  await page.getByRole('heading', { name: 'No plugins yet' }).waitFor();
  await accessible(page);
  const file = join(trust.dir, 'sums.json');
  await writeFile(
    file,
    JSON.stringify(
      signed(
        plugin({ permissions: { network: ['api.example.com', '*.example.org'], storage: { bytes: 65536 }, clock: true } }),
        trust.curator,
      ),
      null,
      2,
    ),
  );
  await page.getByRole('button', { name: 'Add a plugin' }).first().click();
  await accessible(page);
  await page.getByLabel('File').setInputFiles(file);
  const dialog = page.getByRole('dialog', { name: 'Install Sums?' });
  await dialog.getByText('Signed by The curators of this server').waitFor();
  await dialog.getByText('Send and fetch data: api.example.com').waitFor();
  await dialog.getByText('Send and fetch data: all hosts under example.org').waitFor();
  await dialog.getByText('Store data in this browser, at most 64.0 KiB').waitFor();
  await dialog.getByText('Read the clock').waitFor();
  await accessible(page);
  await dialog.getByRole('button', { name: 'Allow and install' }).click();
  const card = page.getByRole('article', { name: 'Sums' });
  await card.getByText('Signed by The curators of this server').waitFor();
  await page.getByText('Root key').waitFor();
  await accessible(page);

  await toPage(page, 'Chat');
  assert.deepEqual(await call(page, 'add', { a: 2, b: 40 }), { sum: 42 });
  await page.getByText('Sums', { exact: true }).first().waitFor();
  await ask(page, 'calculate 6 * 7');
  await page
    .getByText(/Done:.*42/)
    .nth(1)
    .waitFor();

  await toPage(page, 'Plugins');
  await flip(card.getByRole('switch', { name: 'Sums', exact: true }), false);
  await page.reload();
  await isOn(card.getByRole('switch'), false);
  await toPage(page, 'Chat');
  await ask(page, 'call add with {"a":1,"b":1}');
  await page.getByText(/^You said: call add/).waitFor();
  assert.ok(!it.model.asked.at(-1).tools.some((tool) => tool.function.name === 'add'));
  await toPage(page, 'Plugins');
  await card.getByRole('button', { name: 'Uninstall' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Uninstall' }).click();
  await page.getByRole('heading', { name: 'No plugins yet' }).waitFor();
  calm(page);
});

test('an unsigned plugin needs a second confirmation', async () => {
  const page = await visit('/plugins');
  const dialog = await paste(page, withTool('com.example.loose', 'loose', 'return "I ran";'));
  await dialog.getByText('Unsigned', { exact: true }).waitFor();
  const go = dialog.getByRole('button', { name: 'Allow and install' });
  await disabled(go);
  await flip(dialog.getByLabel('I trust its source; let it run unsigned'), true);
  await accessible(page);
  await go.click();
  await page.getByRole('article', { name: 'loose' }).getByText('Unsigned').waitFor();
  await toPage(page, 'Chat');
  assert.equal(await call(page, 'loose'), 'I ran');
  calm(page);
});

test('a modified, revoked, expired or untrusted plugin is not installed', async () => {
  const page = await visit('/plugins');
  const refused = async (manifest, badge, why) => {
    const dialog = await paste(page, manifest);
    await dialog.getByText(badge, { exact: true }).waitFor();
    await dialog.getByText(why).waitFor();
    await disabled(dialog.getByRole('button', { name: 'Allow and install' }));
    await dialog.getByRole('button', { name: 'Cancel' }).click();
  };
  const good = signed(plugin(), trust.curator);
  await refused({ ...good, description: 'Changed.' }, 'Modified', /modified after it was signed/);
  await refused({ ...good, tools: [{ ...good.tools[0], executorCode: 'return 1;' }] }, 'Modified', /modified after/);
  await refused(signed(plugin(), newKey()), 'Unknown key', /no trusted key list/);
  await refused(signed(plugin({ expiresAt: '2020-01-01T00:00:00Z' }), trust.curator), 'Expired', /the plugin expired/);
  await it.api('POST', '/api/plugins/sign', { manifest: plugin({ id: 'com.example.bad', name: 'Bad' }) });
  await it.api('POST', '/api/plugins/com.example.bad/revoke', { reason: 'it steals' });
  await page.reload();
  await refused(signed(plugin({ id: 'com.example.bad' }), trust.curator), 'Revoked', /revoked: it steals/);
  const dialog = await paste(page, '{"id": "a", "id": "b"}');
  await dialog.getByText(/duplicate name/).waitFor();
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
  await page.getByRole('heading', { name: 'No plugins yet' }).waitFor();
  calm(page);
});

test('a plugin that was modified in storage or revoked later does not run', async () => {
  const page = await visit('/plugins');
  await installSigned(page, withTool('com.example.later', 'later', 'return 1;'));
  await it.api('POST', '/api/plugins/sign', { manifest: withTool('com.example.later', 'later', 'return 1;') });
  await page.evaluate(() =>
    localStorage.setItem('toolyard.plugins', localStorage.getItem('toolyard.plugins').replace('return 1;', 'return 2;')),
  );
  await page.reload();
  const card = page.getByRole('article', { name: 'later' });
  await card.getByText('Modified', { exact: true }).waitFor();
  await disabled(card.getByRole('switch'));
  await accessible(page);
  await page.evaluate(() =>
    localStorage.setItem('toolyard.plugins', localStorage.getItem('toolyard.plugins').replace('return 2;', 'return 1;')),
  );
  await page.reload();
  await card.getByText('Signed by').waitFor();
  await it.api('POST', '/api/plugins/com.example.later/revoke', { reason: '' });
  await page.reload();
  await card.getByText('Revoked', { exact: true }).waitFor();
  await toPage(page, 'Chat');
  await ask(page, 'call later');
  await page.getByText(/^You said: call later/).waitFor();
  calm(page);
});

test('an update with more permissions asks again, and a duplicate tool name is refused and names both plugins', async () => {
  const page = await visit('/plugins');
  await installSigned(page, plugin());
  let dialog = await paste(page, signed(plugin({ version: '1.1.0', permissions: { clock: true } }), trust.curator));
  await dialog.getByText('New permission: Read the clock').waitFor();
  await disabled(dialog.getByRole('button', { name: 'Allow and update' }));
  await flip(dialog.getByLabel('I agree to the changes'), true);
  await dialog.getByRole('button', { name: 'Allow and update' }).click();
  await page.getByRole('article', { name: 'Sums' }).getByText('1.1.0').waitFor();
  dialog = await paste(page, signed(plugin({ permissions: { clock: true } }), trust.curator));
  await dialog.getByText('It is an older version.').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  dialog = await paste(page, signed(plugin({ id: 'com.example.more', name: 'More sums' }), trust.curator));
  await dialog.getByText('Its tool add has the same name as a tool of Sums. Uninstall More sums or Sums.').waitFor();
  await disabled(dialog.getByRole('button', { name: 'Allow and install' }));
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  dialog = await paste(page, signed(withTool('com.example.page', 'open_page', 'return 1;'), trust.curator));
  await dialog.getByText('Its tool open_page has the same name as a tool of the console.').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  dialog = await paste(
    page,
    signed(withTool('com.example.inner', 'inner', 'return 1;', { permissions: { network: ['192.168.0.1'] } }), trust.curator),
  );
  await dialog.getByText('It requests access to the address 192.168.0.1; in a browser, a plugin can reach hosts by name only.').waitFor();
  await disabled(dialog.getByRole('button', { name: 'Allow and install' }));
  calm(page);
});

test('stored data of a plugin belongs to its signer', async () => {
  const memo = withTool('com.example.memo', 'memo', 'const was = await storage.get("x"); await storage.set("x", args.x); return { was };', {
    permissions: { storage: true },
  });
  const page = await visit('/plugins');
  const dialog = await paste(page, memo);
  await flip(dialog.getByLabel('I trust its source; let it run unsigned'), true);
  await dialog.getByRole('button', { name: 'Allow and install' }).click();
  await page.getByRole('article', { name: 'memo' }).getByText('Unsigned').waitFor();
  await toPage(page, 'Chat');
  assert.deepEqual(await call(page, 'memo', { x: 1 }), { was: null });
  await page.getByRole('link', { name: 'New conversation' }).click();
  assert.deepEqual(await call(page, 'memo', { x: 2 }), { was: 1 });
  await toPage(page, 'Plugins');
  await installSigned(page, memo, { agrees: true });
  await toPage(page, 'Chat');
  assert.deepEqual(await call(page, 'memo', { x: 3 }), { was: null }, 'one id, another signer');
  calm(page);
});

test('the catalog lists plugins signed by curators, for the browser and for the server', async () => {
  await it.api('POST', '/api/plugins/sign', {
    manifest: withTool('com.example.listed', 'listed', 'return "listed ran";', { name: 'Listed' }),
  });
  const page = await visit('/plugins');
  await page.getByRole('tab', { name: 'Catalogue' }).click();
  await page.getByLabel('Search').fill('Listed');
  await page.getByRole('button', { name: /Review\s*: Listed 1.0.0/ }).waitFor();
  await accessible(page);
  await page.getByRole('button', { name: /Review\s*: Listed 1.0.0/ }).click();
  let dialog = page.getByRole('dialog');
  await dialog.getByText('Signed by The curators of this server').waitFor();
  await dialog.getByRole('button', { name: 'Allow and install' }).click();
  await page.getByRole('article', { name: 'Listed' }).getByText('Signed by').waitFor();
  await page.getByRole('tab', { name: 'Catalogue' }).click();
  await page.getByText('In this browser', { exact: true }).last().waitFor();
  await accessible(page);
  await page.getByRole('tab', { name: 'On the server' }).click();
  await page.getByRole('heading', { name: 'No plugins on the server' }).waitFor();
  dialog = await paste(page, signed(withTool('com.example.remote', 'remote', 'return 1;', { name: 'Remote' }), trust.curator));
  await becomes(() => dialog.getByLabel('Where it runs').inputValue(), 'server');
  await dialog.getByRole('button', { name: 'Allow and install' }).click();
  const card = page.getByRole('article', { name: 'Remote' });
  await card.getByText('Signed').waitFor();
  await accessible(page);
  await flip(card.getByRole('switch'), false);
  await until(async () => !(await it.api('GET', '/api/plugins/installed')).plugins[0].enabled);
  await card.getByRole('button', { name: 'Uninstall' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Uninstall' }).click();
  await page.getByRole('heading', { name: 'No plugins on the server' }).waitFor();
  calm(page);
});

test('the root key is pinned on first use; another one is refused until the user accepts it', async () => {
  const stranger = newKey();
  const kept = { 'toolyard.plugin-root': JSON.stringify({ root: stranger.spki, since: '2026-01-01T00:00:00Z' }) };
  const page = await visit('/plugins', kept);
  await page.getByRole('alert').getByText(trust.root.id).waitFor();
  await accessible(page);
  let dialog = await paste(page, signed(plugin(), trust.curator));
  await dialog.getByText('Unknown key', { exact: true }).waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Trust the new key' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Trust it' }).click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  dialog = await paste(page, signed(plugin(), trust.curator));
  await dialog.getByText('Signed by The curators of this server').waitFor();
  calm(page);
});

test('plugins of an older client are listed as unsigned and never run without confirmation', async () => {
  const older = [
    {
      id: 'dev-greeter',
      name: 'Greeter',
      version: '1.0.0',
      installedAt: '2025-12-01T10:00:00Z',
      signature: 'AAAA',
      curatorId: 'x',
      tools: [
        { name: 'greet', description: 'Greets', parameters: { type: 'object' }, executorCode: 'window.greeted = true; return "hello";' },
      ],
    },
  ];
  const page = await visit('/chat', { hustle_plugins: JSON.stringify(older) });
  await ask(page, 'call greet');
  await page.getByText(/^You said: call greet/).waitFor();
  await toPage(page, 'Plugins');
  await page.getByRole('heading', { name: 'Plugins of an older client' }).waitFor();
  await accessible(page);
  await page.getByRole('button', { name: /Review\s*: Greeter/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Unsigned', { exact: true }).waitFor();
  await flip(dialog.getByLabel('I trust its source; let it run unsigned'), true);
  await dialog.getByRole('button', { name: 'Allow and install' }).click();
  await page.getByRole('heading', { name: 'Plugins of an older client' }).waitFor({ state: 'detached' });
  await toPage(page, 'Chat');
  const answer = await call(page, 'greet');
  assert.match(JSON.stringify(answer), /window is not defined/);
  assert.equal(await page.evaluate(() => window.greeted), undefined);
  assert.equal(await page.evaluate(() => localStorage.getItem('hustle_plugins') !== null), true);
  calm(page);
});
