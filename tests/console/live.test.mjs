// Lists follow what happens elsewhere: nobody has to reload a page.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, test } from 'node:test';
import { becomes, calm, isOn } from './browser.mjs';
import { live, platform } from './kit.mjs';
import { curated, signed, withTool } from './plugin-kit.mjs';

const trust = await curated();
after(() => rm(trust.dir, { recursive: true, force: true }));
const it = platform({ config: trust.config });
const TOOL = { name: 'fresh', title: 'Fresh tool', inputSchema: { type: 'object' } };

/** The page stays: it is never loaded anew. */
async function visit(path) {
  const page = await it.page(path);
  await page.evaluate(() => (window.stays = true));
  page.over = async () => {
    assert.equal(await page.evaluate(() => window.stays), true);
    calm(page);
    await page.context().close();
  };
  return page;
}

test('apps, library, installs and tools update live', async () => {
  await live(it);
  const [apps, library, tools, grants] = await Promise.all(['/apps', '/library', '/tools', '/settings?tab=grants'].map(visit));
  await tools.getByText('Add a todo', { exact: true }).waitFor();
  await it.api('POST', '/api/apps', { packageName: 'com.example.new', name: 'Newcomer', tools: [TOOL] });
  await apps.getByRole('link', { name: 'Newcomer' }).waitFor();
  await library.getByRole('heading', { name: 'Newcomer' }).waitFor();
  await it.api('PUT', '/api/installs/com.example.new');
  await library.getByRole('button', { name: 'Remove Newcomer' }).waitFor();
  await tools.getByRole('switch', { name: 'Fresh tool', exact: true }).waitFor();
  const grant = grants.getByRole('switch', { name: 'Can call tools of other apps: Newcomer' });
  await isOn(grant, false);
  await it.api('PUT', '/api/installs/com.example.new/assistant');
  await isOn(grant, true);
  await it.api('PUT', '/api/settings/tools/com.example.new:fresh', { enabled: false });
  await isOn(tools.getByRole('switch', { name: 'Fresh tool', exact: true }), false);
  await it.api('DELETE', '/api/apps/com.example.new');
  await Promise.all([apps, library, tools, grants].map((page) => page.getByText('Newcomer').waitFor({ state: 'detached' })));
  await Promise.all([apps, library, tools, grants].map((page) => page.over()));
});

test('tokens, upstreams and upstream status update live', async () => {
  const [tokens, upstreams, health] = await Promise.all(
    ['/settings?tab=tokens', '/settings?tab=upstreams', '/activity?tab=upstreams'].map(visit),
  );
  await upstreams.getByRole('heading', { name: 'No upstreams' }).waitFor();
  const { info } = await it.api('POST', '/api/tokens', { name: 'elsewhere' });
  await tokens.getByRole('heading', { name: 'elsewhere' }).waitFor();
  await it.api('DELETE', `/api/tokens/${info.id}`);
  await tokens.getByRole('heading', { name: 'elsewhere' }).waitFor({ state: 'detached' });
  await it.api('POST', '/api/upstreams', { id: 'far', name: 'Far away', url: 'http://127.0.0.1:9/mcp' });
  for (const page of [upstreams, health])
    await page.getByRole('listitem').filter({ hasText: 'Far away' }).getByText('down', { exact: true }).waitFor();
  await it.api('DELETE', '/api/upstreams/far');
  for (const page of [upstreams, health]) await page.getByText('Far away').waitFor({ state: 'detached' });
  await Promise.all([tokens, upstreams, health].map((page) => page.over()));
});

test('server plugins and the catalog update live', async () => {
  const [server, catalogue] = await Promise.all(['/plugins?tab=server', '/plugins?tab=catalogue'].map(visit));
  await server.getByRole('heading', { name: 'No plugins on the server' }).waitFor();
  const manifest = withTool('com.example.live', 'lively', 'return 1;', { name: 'Lively' });
  await it.api('POST', '/api/plugins/sign', { manifest });
  await catalogue.getByRole('article', { name: 'Lively' }).waitFor();
  await it.api('POST', '/api/plugins/installed', { manifest: signed(manifest, trust.curator), permissions: {} });
  const toggle = server.getByRole('switch', { name: 'Lively', exact: true });
  await isOn(toggle, true);
  await it.api('PATCH', '/api/plugins/installed/com.example.live', { enabled: false });
  await isOn(toggle, false);
  await Promise.all([server, catalogue].map((page) => page.over()));
});

test('a form that is being edited is not overwritten, and shows that a newer version exists', async () => {
  await it.api('POST', '/api/apps', { packageName: 'com.example.both', name: 'Both', tools: [TOOL] });
  const page = await visit('/apps/com.example.both?tab=tools');
  await page.getByLabel('Title').fill('Mine');
  await it.api('POST', '/api/apps/com.example.both/tools', { tools: [TOOL, { ...TOOL, name: 'second' }] });
  await page.getByText('Version 2 was saved meanwhile. Your changes are based on version 1.').waitFor();
  await becomes(() => page.getByLabel('Title').inputValue(), 'Mine');
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('button', { name: 'second' }).waitFor();
  await page.over();
});
