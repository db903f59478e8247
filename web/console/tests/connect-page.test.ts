import './browser-parts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectedClient } from '../src/api/clients';
import { isPublicAddress, resolveAddress } from '../src/api/mcp-address';
import { CHAT_APPS } from '../src/pages/connect/chat-apps';
import { CODING_TOOLS } from '../src/pages/connect/coding-tools';
import { findConnection } from '../src/pages/connect/connected';
import { PROGRAMS } from '../src/pages/connect/programs';

const GUIDES = [...CHAT_APPS, ...CODING_TOOLS, ...PROGRAMS];
const NOW = Date.parse('2026-11-18T12:00:00Z');

const client = (parts: Partial<ConnectedClient>): ConnectedClient => ({
  id: 'c1',
  clientId: 'dyn_1',
  name: 'Some client',
  host: '127.0.0.1',
  scopes: [],
  apps: [],
  createdAt: '2026-11-17T12:00:00Z',
  lastUsedAt: '2026-11-17T12:00:00Z',
  expiresAt: '2026-12-17T12:00:00Z',
  ...parts,
});

/** The guides that show a mark for this client. */
const marked = (parts: Partial<ConnectedClient>) =>
  GUIDES.filter(({ identity }) => findConnection(identity, [client(parts)], NOW) !== undefined).map(({ id }) => id);

test('clients are recognized by their document, their host or the start of their name', () => {
  assert.deepEqual(marked({ name: 'Claude', host: 'claude.ai' }), ['claude', 'claude-desktop']);
  assert.deepEqual(marked({ name: 'Anything', host: 'chatgpt.com' }), ['chatgpt']);
  assert.deepEqual(marked({ name: 'Claude Code (toolyard)' }), ['claude-code']);
  assert.deepEqual(marked({ name: 'Visual Studio Code - Insiders' }), ['vscode']);
  assert.deepEqual(marked({ name: 'cursor\u202e' }), ['cursor']);
  assert.deepEqual(marked({ name: 'OpenAI', clientId: 'https://chatgpt.com/oauth/codex/client.json' }), ['codex']);
  assert.deepEqual(marked({ name: 'Gemini CLI MCP Client' }), ['gemini-cli']);
});

test('other clients get no mark', () => {
  assert.deepEqual(marked({ name: 'Claude', host: 'claude.ai.example.com' }), []);
  assert.deepEqual(marked({ name: 'ChatGPT', host: 'localhost' }), []);
  assert.deepEqual(marked({ name: 'Cursors' }), []);
  assert.deepEqual(marked({ name: 'My Cursor' }), []);
  assert.deepEqual(marked({ name: 'Cursor', expiresAt: '2026-11-18T11:59:59Z' }), []);
});

test('of several connections the one that was used last is shown', () => {
  const old = client({ id: 'old', name: 'Zed' });
  const recent = client({ id: 'recent', name: 'Zed', lastUsedAt: '2026-11-18T11:00:00Z' });
  assert.equal(findConnection({ names: ['Zed'] }, [old, recent, old], NOW)?.id, 'recent');
});

test('the address is the one that the server reports, unless it is unusable', () => {
  const origin = 'http://192.168.0.7:8787';
  const issuers = { authorization_servers: ['https://tools.example.com'] };
  assert.deepEqual(resolveAddress({ resource: 'https://tools.example.com/mcp', ...issuers }, origin), {
    url: 'https://tools.example.com/mcp',
    base: 'https://tools.example.com',
    supportsOAuth: true,
  });
  for (const resource of ['http://0.0.0.0:8787/mcp', 'http://[::]:8787/mcp', 'nonsense', '']) {
    assert.deepEqual(resolveAddress({ resource }, origin), { url: `${origin}/mcp`, base: origin, supportsOAuth: false });
  }
});

test('only https at a public host can be reached from the internet', () => {
  for (const url of ['https://tools.example.com/mcp', 'https://203.0.113.4/mcp', 'https://[2001:db8::1]/mcp', 'https://172.32.0.1/mcp'])
    assert.ok(isPublicAddress(url), url);
  for (const url of [
    ...['http://tools.example.com/mcp', 'https://localhost:8443/mcp', 'https://127.0.0.1/mcp', 'https://[::1]/mcp', 'https://10.1.2.3/mcp'],
    ...['https://192.168.1.2/mcp', 'https://172.20.0.1/mcp', 'https://nas.local/mcp', 'https://nas/mcp', 'https://[fd00::1]/mcp'],
  ])
    assert.ok(!isPublicAddress(url), url);
});

test('labels and ids are unique', () => {
  const address = resolveAddress({ resource: 'https://tools.example.com/mcp' }, 'https://tools.example.com');
  const labels = GUIDES.flatMap((guide) => guide.snippets(address).map(({ label }) => label));
  assert.equal(new Set(labels).size, labels.length);
  assert.equal(new Set(GUIDES.map(({ id }) => id)).size, GUIDES.length);
});
