// The inspector connects by OAuth on its command line: it opens a browser, receives the code at a port of its own, and keeps the tokens in
// the user's home, where the next command finds them.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { environment, openedLinks, plan, say } from './oauth.mjs';

const inspector = join(import.meta.dirname, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');
// Without a terminal it opens a browser only if it is told to.
const env = { ...environment(), MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' };

/** The result of one command. */
async function run(method, ...options) {
  const args = [inspector, '--cli', plan.url, '--transport', 'http', '--format', 'json', '--protocol-era', 'auto'];
  const more = ['--connect-timeout', '60000', '--callback-url', 'http://127.0.0.1:0/oauth/callback', '--method', method];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...args, ...more, ...options], { env });
  process.stderr.write(stderr);
  return JSON.parse(stdout).result;
}

const secrets = join(homedir(), '.mcp-inspector/secrets.json');

/** The tokens that it keeps, which may be replaced. They are JSON in a string in JSON. */
async function tokens(replace) {
  const file = JSON.parse(await readFile(secrets, 'utf8'));
  const [account] = Object.keys(file.secrets).filter((name) => name.includes(':tokens:'));
  const kept = JSON.parse(file.secrets[account]);
  if (replace) {
    file.secrets[account] = JSON.stringify(replace(kept));
    await writeFile(secrets, JSON.stringify(file));
  }
  return kept;
}
const call = async (...options) => {
  const { content } = await run('tools/call', '--tool-name', 'com_example_echo__echo', '--tool-arg', 'text=hi', ...options);
  return content[0].text;
};

const { tools } = await run('tools/list');
const answer = await call('--stored-auth-only');
const { scope } = await tokens();
say('called', { tools: tools.length, answer, links: await openedLinks(), scope });

// An expired token is renewed without the user.
const first = await tokens((kept) => ({ ...kept, access_token: 'expired' }));
await call('--stored-auth-only');
const second = await tokens();
say('renewed', { links: await openedLinks(), rotated: second.refresh_token !== first.refresh_token });
