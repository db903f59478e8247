// Runs the authorization-server scenarios of the conformance suite against a server, and says the status of every check.
//
//   node authorization.mjs '{"url": "http://127.0.0.1:8080/mcp", "user": {"authorization": "Bearer ..."}}'
//
// The suite wants a client that is registered already, and a person with a browser. This registers one and plays the other.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { agreeAndReturn } from '../mcp-clients/consent.mjs';
import { freePort } from '../mcp-clients/ports.mjs';

const suite = join(import.meta.dirname, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const plan = JSON.parse(process.argv[2]);
const issuer = new URL(plan.url).origin;

async function register(port) {
  const response = await fetch(`${issuer}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Conformance suite',
      redirect_uris: [`http://127.0.0.1:${port}/callback`],
      token_endpoint_auth_method: 'none',
    }),
  });
  if (response.status !== 201) throw new Error(`registration: ${response.status} ${await response.text()}`);
  return (await response.json()).client_id;
}

/** Runs all scenarios once. The browser opens the one link that the suite prints. */
async function runSuite(options, results) {
  const port = await freePort();
  const client = await register(port);
  const args = [suite, 'authorization', '--url', issuer, '--client-id', client, '--port', String(port), '-o', results];
  const child = spawn(process.execPath, [...args, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = new Promise((done, failed) => child.on('error', failed).on('close', done));
  let listening = false;
  let link;
  let browser;
  for await (const line of createInterface({ input: child.stdout })) {
    process.stderr.write(`${line}\n`);
    listening ||= line.startsWith('Callback server started');
    if (line.startsWith(`${issuer}/oauth/authorize?`)) link = line;
    if (listening && link && !browser) {
      browser = agreeAndReturn(link, plan);
      browser.catch(() => child.kill());
    }
  }
  const code = await exit;
  await browser;
  return code;
}

/** `ID STATUS` of every check, and what was wrong. */
async function readChecks(results) {
  const checks = [];
  for (const folder of (await readdir(results)).sort()) {
    checks.push(...JSON.parse(await readFile(join(results, folder, 'checks.json'), 'utf8')));
  }
  return checks.map(({ id, status, errorMessage }) => [id, status, errorMessage].filter(Boolean).join(' '));
}

/** The port can be taken before the suite listens; then it is run again. */
async function check(options) {
  for (let attempt = 1; ; attempt += 1) {
    const results = await mkdtemp(join(tmpdir(), 'conformance-'));
    try {
      const code = await runSuite(options, results);
      const checks = await readChecks(results);
      if (attempt < 3 && checks.some((check) => check.includes('EADDRINUSE'))) continue;
      return { code, checks };
    } finally {
      await rm(results, { recursive: true, force: true });
    }
  }
}

// A client that names no resource means the one that there is.
for (const [step, options] of [
  ['without-resource', []],
  ['with-resource', ['--resource', plan.url]],
]) {
  process.stdout.write(`${JSON.stringify({ step, ...(await check(options)) })}\n`);
}
