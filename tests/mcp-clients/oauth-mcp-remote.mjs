// mcp-remote connects by OAuth for a client that speaks only stdio: it opens a browser, receives the code at a port of its own, and keeps
// the tokens in the user's home, where its next start finds them.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { environment, openedLinks, plan, say } from './oauth.mjs';

const remote = join(import.meta.dirname, 'node_modules/mcp-remote/dist/proxy.js');

/** Starts it, and calls a tool through it. */
async function through(...options) {
  const client = new Client({ name: 'behind-mcp-remote', version: '1.0.0' });
  const args = [remote, plan.url, '--auth-timeout', '60', ...options];
  const command = { command: process.execPath, args, env: environment(), stderr: 'inherit' };
  await client.connect(new StdioClientTransport(command));
  const { tools } = await client.listTools();
  const { content } = await client.callTool({ name: 'com_example_echo__echo', arguments: { text: 'hi' } });
  await client.close();
  return { tools: tools.length, answer: content[0].text };
}

/** The file with the tokens. Its folder and its name are made of a version and a hash. */
async function tokensFile() {
  const folder = join(homedir(), '.mcp-auth');
  const files = await readdir(folder, { recursive: true });
  return join(
    folder,
    files.find((file) => file.endsWith('tokens.json')),
  );
}
const tokens = async () => JSON.parse(await readFile(await tokensFile(), 'utf8'));

const called = await through();
const first = await tokens();
say('called', { ...called, links: await openedLinks(), scope: first.scope });

// An expired token is renewed without the user.
await writeFile(await tokensFile(), JSON.stringify({ ...first, access_token: 'expired' }));
const { answer } = await through('--protocol', 'auto');
const { refresh_token: renewed } = await tokens();
say('renewed', { answer, links: await openedLinks(), rotated: renewed !== first.refresh_token });
