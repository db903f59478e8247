// The Connect page: each client with this server's address, the mark of those that are connected, and the checklist for new users.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { accessible, becomes, calm, focused, open, settled } from './browser.mjs';
import { ask, consoleOf, fitsPhone, PHONE, platform, ready } from './kit.mjs';
import { USER } from './stage.mjs';

/** In dev mode a user without glasses has no session, which the library asks for. */
const NO_SESSION = /401/;
const OAUTH = [
  ...['Claude (web)', 'Claude Desktop', 'ChatGPT', 'goose', 'LM Studio', 'Claude Code', 'Cursor', 'VS Code', 'Windsurf', 'Zed'],
  ...['Codex', 'Gemini CLI'],
];
const TOKEN = ['Open WebUI', 'n8n', 'LangChain', 'OpenAI SDK', 'AI SDK', 'curl'];
const HOSTED = ['Claude (web)', 'ChatGPT'];
const PUBLIC = 'https://tools.example.com';

const card = (page, name) => page.locator('.client-card').filter({ has: page.getByRole('heading', { name, exact: true, level: 3 }) });
const mark = (page, name) => card(page, name).getByText('Connected', { exact: true });
const marked = (page) => page.locator('.client-card').filter({ hasText: 'Connected' }).getByRole('heading').allInnerTexts();
const href = (page, name) => page.getByRole('link', { name, exact: true }).getAttribute('href');
const checklist = (page) => page.getByRole('region', { name: 'Getting started' });
const step = (page, label) => checklist(page).getByRole('listitem').filter({ hasText: label });

const CALLBACK = 'http://127.0.0.1:9/callback';

/** A client registers itself, the user agrees, and the client uses its token. Returns the id of the connection. */
async function connectClient(it, { name, callback = CALLBACK, user = USER }) {
  const post = async (path, body) => {
    const isForm = body instanceof URLSearchParams;
    const headers = isForm ? {} : { 'Content-Type': 'application/json' };
    const response = await fetch(it.url + path, { method: 'POST', headers, body: isForm ? body : JSON.stringify(body) });
    const text = await response.text();
    assert.ok(response.ok, `${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  };
  const registration = { client_name: name, redirect_uris: [callback], token_endpoint_auth_method: 'none' };
  const { client_id } = await post('/oauth/register', registration);
  const verifier = randomBytes(32).toString('base64url');
  const asked = {
    ...{ response_type: 'code', client_id, redirect_uri: callback, state: 's', resource: `${it.url}/mcp` },
    ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
  };
  const consent = await fetch(`${it.url}/oauth/authorize?${new URLSearchParams(asked)}`, { redirect: 'manual' });
  const request = new URL(consent.headers.get('location')).searchParams.get('request');
  const { redirect } = await it.api('POST', '/api/oauth/consent', { request, approve: true }, user);
  const code = new URL(redirect).searchParams.get('code');
  const grant = { grant_type: 'authorization_code', code, client_id, redirect_uri: callback, code_verifier: verifier };
  const { access_token } = await post('/oauth/token', new URLSearchParams(grant));
  const tools = await fetch(`${it.url}/api/tools`, { headers: { Authorization: `Bearer ${access_token}` } });
  assert.notEqual(tools.status, 401);
  const { clients } = await it.api('GET', '/api/clients', undefined, user);
  return clients.find((client) => client.clientId === client_id).id;
}

describe('the Connect page', () => {
  const it = platform();

  test('is in the navigation, and every client has a text with the address of this server', async () => {
    const page = await it.page('/settings?tab=about', { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('navigation').getByRole('link', { name: 'Connect', exact: true }).click();
    await focused(page.getByRole('heading', { name: 'Connect', level: 1 }));
    const origin = new URL(it.url).origin;
    await becomes(() => page.getByLabel('MCP address', { exact: true }).innerText(), `${origin}/mcp`);
    const titles = page.locator('.client-card').getByRole('heading', { level: 3 });
    await becomes(async () => (await titles.allInnerTexts()).sort(), [...OAUTH, ...TOKEN].sort());
    await accessible(page);

    for (const name of [...OAUTH, ...TOKEN]) {
      const texts = await card(page, name).locator('pre').allInnerTexts();
      assert.ok(
        texts.some((text) => text.includes(`${origin}/`) || text.includes(`"${origin}"`)),
        `${name}: ${texts}`,
      );
      const needsToken = TOKEN.includes(name) || name === 'Claude Desktop';
      assert.equal(
        texts.some((text) => text.includes('YOUR_TOKEN')),
        needsToken,
        name,
      );
      const tokens = card(page, name).getByRole('link', { name: 'Create one under Settings, Tokens' });
      if (needsToken) await becomes(() => tokens.getAttribute('href'), '/console/settings?tab=tokens');
      else assert.equal(await tokens.count(), 0, name);
      for (const [place, text] of texts.entries()) {
        await card(page, name)
          .getByRole('button', { name: /^Copy / })
          .first()
          .click();
        await card(page, name).getByRole('button', { name: 'Copied' }).nth(place).waitFor();
        await becomes(() => page.evaluate(() => navigator.clipboard.readText()), text, `${name}: ${place}`);
      }
    }
    calm(page, NO_SESSION);
    await page.context().close();
  });

  test('links that open a program contain this server and no credential', async () => {
    const page = await it.page('/connect');
    await card(page, 'Cursor').waitFor();
    const url = `${new URL(it.url).origin}/mcp`;
    const decode = (text) => JSON.parse(Buffer.from(text, 'base64').toString());

    const cursor = new URL(await href(page, 'Add to Cursor'));
    assert.equal(`${cursor.protocol}//${cursor.host}${cursor.pathname}`, 'cursor://anysphere.cursor-deeplink/mcp/install');
    assert.equal(cursor.searchParams.get('name'), 'toolyard');
    assert.deepEqual(decode(cursor.searchParams.get('config')), { url });

    const [vscode, server] = (await href(page, 'Add to VS Code')).split('?');
    assert.equal(vscode, 'vscode:mcp/install');
    assert.deepEqual(JSON.parse(decodeURIComponent(server)), { name: 'toolyard', type: 'http', url });

    const studio = new URL(await href(page, 'Add to LM Studio'));
    assert.equal(`${studio.protocol}//${studio.host}`, 'lmstudio://add_mcp');
    assert.equal(studio.searchParams.get('name'), 'toolyard');
    assert.deepEqual(decode(studio.searchParams.get('config')), { url });

    const goose = new URL(await href(page, 'Add to goose'));
    assert.equal(`${goose.protocol}//${goose.host}`, 'goose://extension');
    const { url: remote, type, name } = Object.fromEntries(goose.searchParams);
    assert.deepEqual({ remote, type, name }, { remote: url, type: 'streamable_http', name: 'Toolyard' });

    for (const [label, target] of [
      ['Open connectors in Claude', 'https://claude.ai/customize/connectors'],
      ['Open plugins in ChatGPT', 'https://chatgpt.com/plugins'],
    ]) {
      const link = page.getByRole('link', { name: label });
      await becomes(() => link.getAttribute('href'), target);
      await becomes(() => link.getAttribute('rel'), 'noopener noreferrer');
    }
    calm(page, NO_SESSION);
    await page.context().close();
  });

  test('says which clients cannot reach a local server, and uses the public address that the server reports', async () => {
    const page = await it.page('/connect');
    for (const name of HOSTED) await card(page, name).getByText('must reach this server over the internet').waitFor();
    await becomes(() => page.getByText('must reach this server over the internet').count(), HOSTED.length);

    const metadata = { resource: `${PUBLIC}/mcp`, authorization_servers: [PUBLIC], scopes_supported: [], resource_name: 'Toolyard' };
    await page.route('**/.well-known/oauth-protected-resource/mcp', (route) => route.fulfill({ json: metadata }));
    await page.reload();
    await page.getByText(`Clients use the server's public address, ${PUBLIC}.`).waitFor();
    await becomes(
      () => card(page, 'Codex').locator('pre').innerText(),
      `codex mcp add toolyard --url ${PUBLIC}/mcp\ncodex mcp login toolyard`,
    );
    await card(page, 'curl').getByText(`${PUBLIC}/api/tools`).waitFor();
    for (const name of HOSTED) await card(page, name).getByText('Reaches this server over the internet.').waitFor();
    assert.equal(await page.getByText('must reach this server').count(), 0);
    assert.equal(await page.getByText('does not let clients sign in').count(), 0);

    metadata.authorization_servers = [];
    await page.reload();
    await page.getByText('This server does not let clients sign in.').waitFor();
    await accessible(page);
    calm(page, NO_SESSION);
    await page.context().close();
  });

  test('cards are filtered, with the keyboard only', async () => {
    const page = await it.page('/connect');
    const search = page.getByRole('searchbox', { name: 'Search clients' });
    await search.focus();
    await page.keyboard.type('claude code');
    const titles = () => page.locator('.client-card').getByRole('heading').allInnerTexts();
    await becomes(titles, ['Claude Code']);
    await page.getByText('1 found').waitFor();
    await page.keyboard.press('Tab');
    await focused(page.getByRole('region', { name: 'Claude Code commands' }));
    await page.keyboard.press('Tab');
    await focused(page.getByRole('button', { name: 'Copy Claude Code commands' }));
    await page.waitForURL(/q=claude\+code/);
    await page.reload();
    await becomes(titles, ['Claude Code']);
    await search.fill('nothing like this');
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor();
    await accessible(page);
    await search.fill('');
    await becomes(() => page.locator('.client-card').count(), OAUTH.length + TOKEN.length);
    calm(page, NO_SESSION);
    await page.context().close();
  });

  test('a client gets its mark when it connects and loses it when it is disconnected, without a reload', async () => {
    const page = await it.page('/connect');
    await card(page, 'Cursor').waitFor();
    assert.deepEqual(await marked(page), []);
    const cursor = await connectClient(it, { name: 'Cursor' });
    await mark(page, 'Cursor').waitFor();
    await connectClient(it, { name: 'Claude Code (toolyard)' });
    await mark(page, 'Claude Code').waitFor();
    // The name alone does not make it Claude: only the host does.
    await connectClient(it, { name: 'Claude' });
    await connectClient(it, { name: 'Visual Studio Code' });
    await mark(page, 'VS Code').waitFor();
    assert.deepEqual((await marked(page)).sort(), ['Claude Code', 'Cursor', 'VS Code']);
    await connectClient(it, { name: 'Claude', callback: 'https://claude.ai/api/mcp/auth_callback' });
    for (const name of ['Claude (web)', 'Claude Desktop']) await mark(page, name).waitFor();
    await accessible(page);
    await it.api('DELETE', `/api/clients/${cursor}`);
    await mark(page, 'Cursor').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'connected clients' }).click();
    await page.getByRole('list', { name: 'Connected clients' }).getByRole('heading', { name: 'Visual Studio Code' }).waitFor();
    await page.getByRole('link', { name: 'Steps for each client' }).click();
    await mark(page, 'VS Code').waitFor();
    calm(page, NO_SESSION);
    await page.context().close();
  });

  test('fits on a phone, in the dark and the light theme', async () => {
    for (const colorScheme of ['dark', 'light']) {
      const page = await it.page('/connect', { ...PHONE, colorScheme });
      await card(page, 'curl').waitFor();
      await settled(page);
      await fitsPhone(page);
      await accessible(page);
      calm(page, NO_SESSION);
      await page.context().close();
    }
  });
});

describe('the checklist for new users', () => {
  const it = platform();
  const STEPS = ['Connect a client', 'Install an app', 'Try a tool', 'Ask the assistant'];
  const states = (page) => checklist(page).getByRole('listitem').locator('.hidden').allInnerTexts();
  const todo = 'not done yet';

  test('each step leads to its page and is ticked off by what the user does; the list disappears at the end', async () => {
    const user = 'new@example.com';
    const page = await it.page('/', { user });
    await page.waitForURL(/\/console\/chat$/);
    await becomes(() => states(page), [todo, todo, todo, todo]);
    await becomes(() => checklist(page).getByRole('link').allInnerTexts(), STEPS);
    await accessible(page);
    for (const [label, title] of [
      ['Connect a client', 'Connect'],
      ['Install an app', 'Library'],
      ['Try a tool', 'Tools'],
    ]) {
      await step(page, label).getByRole('link').click();
      await page.getByRole('heading', { name: title, level: 1 }).waitFor();
      await page.goBack();
      await checklist(page).waitFor();
    }
    await step(page, 'Ask the assistant').getByRole('link').click();
    await focused(page.getByRole('textbox', { name: 'Message' }));

    const client = await connectClient(it, { name: 'Zed', user });
    await becomes(() => states(page), ['done', todo, todo, todo]);
    await it.api('DELETE', `/api/clients/${client}`, undefined, user);
    await becomes(() => states(page), [todo, todo, todo, todo]);
    await it.api('POST', '/api/tokens', { name: 'script', user }, user);
    await becomes(() => states(page), ['done', todo, todo, todo]);
    await it.api('PUT', '/api/installs/com.example.todo', undefined, user);
    await becomes(() => states(page), ['done', 'done', todo, todo]);
    await it.api('POST', '/api/tools/execute', { name: 'com.example.todo:add_todo', arguments: { todo_item: 'milk' } }, user);
    await page.reload();
    await becomes(() => states(page), ['done', 'done', 'done', todo]);
    await accessible(page);
    await ask(page, 'hello');
    await ready(page);
    await page.getByRole('link', { name: 'New conversation' }).first().click();
    await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
    await becomes(() => page.evaluate((who) => localStorage.getItem(`toolyard.checklist/${who}`), user), 'hidden');
    assert.equal(await checklist(page).count(), 0);
    calm(page, NO_SESSION);
    await page.context().close();
  });

  test('is dismissed for one user of a browser', async () => {
    const page = await it.page('/chat', { ...PHONE, user: 'first@example.com' });
    await checklist(page).waitFor();
    await fitsPhone(page);
    await accessible(page);
    await page.getByRole('button', { name: 'Dismiss the checklist' }).click();
    await checklist(page).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
    await page.locator('summary').filter({ hasText: 'User menu' }).click();
    assert.equal(await checklist(page).count(), 0);
    calm(page, NO_SESSION);
    const second = await it.page('/chat', { user: 'second@example.com' });
    await checklist(second).waitFor();
    calm(second, NO_SESSION);
    await page.context().close();
    await second.context().close();
  });
});

describe('signed out', () => {
  const it = platform({ auth: 'token', settings: ['net.allow_loopback=true'] });

  test('the sign-in page says what this server is', async () => {
    const home = await fetch(`${it.url}/`, { redirect: 'manual' });
    assert.equal(home.headers.get('location'), '/console/');
    const page = await open(it.browser, consoleOf(it), '/', { ...PHONE, user: null });
    await page.getByRole('heading', { name: 'Toolyard', level: 1 }).waitFor();
    await page.getByText(/^This server gives AI assistants such as Claude, ChatGPT and Cursor access to your tools/).waitFor();
    await fitsPhone(page);
    await accessible(page);
    // A client that wants to connect has its own explanation.
    await page.goto(`${consoleOf(it)}/console/authorize?request=r1`);
    await page.getByText('A client asks for access to your tools. Sign in to decide.').waitFor();
    assert.equal(await page.getByText('This server gives AI assistants').count(), 0);
    calm(page, /401/);
    await page.context().close();
  });
});
