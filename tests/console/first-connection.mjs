// Measures the first connection: from starting a fresh server to the tools listed in a foreign client. Prints clicks and seconds.
// Run it with `node first-connection.mjs` after a build. The client is the TypeScript SDK of MCP; the browser is Chromium.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './browser.mjs';

const clients = createRequire(new URL('../mcp-clients/package.json', import.meta.url));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await import(
  pathToFileURL(clients.resolve('@modelcontextprotocol/client')).href
);
const root = new URL('../../', import.meta.url).pathname;
const program = join(process.env.TOOLYARD_BIN ?? join(root, 'target/debug'), 'toolyard');
const START_MS = 120_000;

/** Reads what the server prints until a line has what is wanted. */
function waitFor(stream, pattern) {
  return new Promise((resolve, reject) => {
    let text = '';
    const late = setTimeout(() => reject(new Error(`the server did not print ${pattern}:\n${text}`)), START_MS);
    stream.on('data', (chunk) => {
      text += chunk;
      const found = pattern.exec(text);
      if (found === null) return;
      clearTimeout(late);
      resolve(found[1]);
    });
  });
}

/** A port that the operating system chose. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const folder = await mkdtemp(join(tmpdir(), 'toolyard-first-'));
const browser = await launch();
const page = await (await browser.newContext()).newPage();
let clicks = 0;
async function click(name) {
  const button = page.getByRole('button', { name, exact: true }).first();
  await button.click();
  clicks += 1;
}

const url = `http://localhost:${await freePort()}`;
const began = performance.now();
const seconds = () => ((performance.now() - began) / 1000).toFixed(1);
const settings = ['serve', '--listen', `127.0.0.1:${new URL(url).port}`, '--auth', 'token', '--public-url', url];
const server = spawn(program, settings, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
try {
  const link = await waitFor(server.stderr, /(http:\/\/\S+#code=\S+)\n/);
  console.log(`${seconds()} s: the server has started and printed its link`);

  await page.goto(link);
  await click('Sign in');
  await page.locator('summary').filter({ hasText: 'User menu' }).waitFor();
  console.log(`${seconds()} s, ${clicks} clicks: the operator is signed in`);

  let answered;
  const callback = createServer((request, response) => {
    response.end('You can close this page.');
    answered?.(new URL(request.url, 'http://localhost').searchParams);
  });
  await new Promise((resolve) => callback.listen(0, '127.0.0.1', resolve));
  const redirectUrl = `http://127.0.0.1:${callback.address().port}/callback`;
  const kept = {};
  const returned = new Promise((resolve) => {
    answered = resolve;
  });
  const provider = {
    redirectUrl,
    clientMetadata: { client_name: 'A foreign client', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none' },
    state: () => 'state',
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    redirectToAuthorization: (address) => void page.goto(address.href).catch(() => undefined),
  };
  const transport = () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: provider });
  const client = () => new Client({ name: 'foreign', version: '1.0.0' });
  const first = transport();
  await client()
    .connect(first)
    .catch((error) => {
      if (!(error instanceof UnauthorizedError)) throw error;
    });
  await click('Connect');
  await first.finishAuth(await returned);
  const connected = client();
  await connected.connect(transport());
  const { tools } = await connected.listTools();
  console.log(`${seconds()} s, ${clicks} clicks: ${tools.length} tools are listed in a foreign client`);
  await connected.close();
  callback.close();
} finally {
  server.kill();
  await browser.close();
  await rm(folder, { recursive: true, force: true });
}
