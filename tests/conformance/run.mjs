// Runs the conformance suite against a server, revision by revision, and says in short how it went.
//
//   node run.mjs URL REVISION...
//
// Ends with 1 where a required scenario fails that is not in expected-failures/REVISION.yml, or one passes that is.
// A warning counts as a failure. What a revision does not require is run and shown, and decides nothing.

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';

const here = import.meta.dirname;
/** What stands for the checks of a scenario that broke off before it wrote any. */
const BROKEN = '[{ "id": "scenario", "status": "FAILURE", "errorMessage": "it broke off" }]';
const suite = join(here, 'node_modules/@modelcontextprotocol/conformance');

/** Runs the suite and returns its verdict, with what it said. */
function runSuite(url, revision, results) {
  const expected = join(here, 'expected-failures', `${revision}.yml`);
  const args = [join(suite, 'dist/index.js'), 'server', '--url', url, '--requirements', revision];
  const child = spawn(process.execPath, [...args, '--expected-failures', expected, '-o', results]);
  let said = '';
  child.stdout.on('data', (data) => {
    said += data;
  });
  child.stderr.on('data', (data) => {
    said += data;
  });
  return new Promise((done, failed) => {
    child.on('error', failed);
    child.on('close', (code) => done({ code, said }));
  });
}

/** The checks of every scenario that ran. Its folders are named `server-SCENARIO-TIME`. */
async function readChecks(results) {
  const scenarios = new Map();
  for (const folder of await readdir(results)) {
    const name = folder.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, '');
    const text = await readFile(join(results, folder, 'checks.json'), 'utf8').catch(() => BROKEN);
    scenarios.set(name, JSON.parse(text));
  }
  return scenarios;
}

const wrong = (check) => check.status === 'FAILURE' || check.status === 'WARNING';

/** A scenario that checked nothing has not passed. */
const passed = (checks) => checks?.some((check) => check.status === 'SUCCESS') === true && !checks.some(wrong);

function show(revision, name, checks, required) {
  const good = checks?.filter((check) => check.status === 'SUCCESS').length ?? 0;
  const bad = checks?.filter(wrong) ?? [];
  const word = passed(checks) ? 'pass' : !required && bad.length === 0 ? 'skip' : 'FAIL';
  console.log(`${revision} ${word} ${name} ${good}/${good + bad.length}${required ? '' : ' (not required)'}`);
  if (required) {
    if (good + bad.length === 0) console.log('    it checked nothing');
    for (const check of bad) console.log(`    ${check.status} ${check.id}: ${check.errorMessage ?? check.description}`);
  }
}

async function check(url, revision) {
  const requirements = parse(await readFile(join(suite, 'requirements', `${revision}.yaml`), 'utf8'));
  const results = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    const { code, said } = await runSuite(url, revision, results);
    const scenarios = await readChecks(results);
    const other = [...scenarios.keys()].filter((name) => !requirements.server.includes(name));
    for (const name of requirements.server) show(revision, name, scenarios.get(name), true);
    for (const name of other) show(revision, name, scenarios.get(name), false);
    const count = (names) => `${names.filter((name) => passed(scenarios.get(name))).length} of ${names.length}`;
    console.log(`${revision}: ${count(requirements.server)} required, ${count(other)} others`);
    const silent = requirements.server.filter((name) => {
      const checks = scenarios.get(name) ?? [];
      return !checks.some((check) => check.status === 'SUCCESS') && !checks.some(wrong);
    });
    if (code !== 0 || silent.length > 0) {
      // What the suite says at its end: which failures were not expected, which expectations are out of date.
      const verdict = said.search(/Expected failures \(in|Stale baseline|Unexpected failures|Server test error/);
      const words = verdict < 0 ? said.slice(-2_000) : said.slice(verdict);
      console.log(words.replaceAll(/\x1b\[\d+m/g, ''));
      return false;
    }
    return true;
  } finally {
    await rm(results, { recursive: true, force: true });
  }
}

const [url, ...revisions] = process.argv.slice(2);
if (!url || revisions.length === 0) {
  console.error('node run.mjs URL REVISION...');
  process.exit(2);
}
let good = true;
for (const revision of revisions) good = (await check(url, revision)) && good;
process.exit(good ? 0 : 1);
