// A whole platform for one test file: the real server, the to-do app and the assistant as processes, and a scripted model.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { startModel } from './model.mjs';

const root = new URL('../../', import.meta.url).pathname;
const bin = process.env.TOOLYARD_BIN ?? join(process.env.CARGO_TARGET_DIR ?? join(root, 'target'), 'debug');
export const USER = 'ada@example.com';
const TODO = 'com.example.todo';
const ASSISTANT = 'com.example.assistant';

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Bounds of the platform that a busy machine would hit although nothing is wrong: how long a call, a wake-up and the first words
 * of a socket take, how long a picture stays, and how often a test asks in a row.
 */
const PATIENT = [
  ...['calls.timeout_ms=120000', 'calls.wake_timeout_ms=60000', 'sessions.overlay_ms=120000', 'server.introduction_ms=60000'],
  ...['user', 'tool', 'all', 'manage', 'costly'].flatMap((who) => [`rates.${who}_burst=100000`, `rates.${who}_per_s=100000`]),
];

/** A process on a busy machine may take a while to start; one that ended will not start any more. */
const START_MS = 120_000;

/** Tries until it works; a process that does not start fails the test with its log. */
async function until(what, { log, child }, work) {
  const end = Date.now() + START_MS;
  while (Date.now() < end && child.exitCode === null && child.signalCode === null) {
    try {
      const value = await work();
      if (value) return value;
    } catch {
      // Not yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what} did not start:\n${existsSync(log) ? await readFile(log, 'utf8') : ''}`);
}

const TRIES = 5;

/** Another process may take a port between the moment it was found free and the moment it is used: then another one is tried. */
async function onFreePort(work) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work(await freePort());
    } catch (error) {
      if (tries === TRIES || !/address already in use|AddrInUse|os error 98/i.test(String(error))) throw error;
    }
  }
}

/**
 * `port` of the server, else any free one; `host`: its name, instead of its address; `auth`: `dev` or `token`; `settings`: more of `--set`; `config`: the text of a
 * configuration file; `assistant`: whether it runs; `paced`: the model speaks slowly by itself, for people who watch it.
 */
export async function stage(options = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'toolyard-console-'));
  const model = await startModel({ paced: options.paced === true });
  const children = [];
  const close = async () => {
    model.close();
    for (const child of children) child.kill('SIGTERM');
    await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? new Promise((resolve) => child.on('exit', resolve))));
    if (process.env.STAGE_LOGS) await keepLogs(dir, process.env.STAGE_LOGS);
    await rm(dir, { recursive: true, force: true });
  };
  try {
    return { dir, model, close, ...(await build(options, dir, model, children)) };
  } catch (error) {
    // What did start would keep the test file from ending.
    await close();
    throw error;
  }
}

/** What the programs of a stage logged, for whoever looks for the cause of a failure. */
async function keepLogs(dir, folder) {
  await mkdir(folder, { recursive: true });
  const logs = (await readdir(dir)).filter((name) => name.endsWith('.log'));
  await Promise.all(logs.map((name) => copyFile(join(dir, name), join(folder, `${basename(process.argv[1])}-${name}`))));
}

async function build({ port, host, auth = 'dev', settings = [], config = '', assistant = false }, dir, model, children) {
  const start = (name, args, env = {}) => {
    const log = join(dir, `${name}.log`);
    const child = spawn('/bin/sh', ['-c', `exec "$0" "$@" >"${log}" 2>&1 </dev/null`, join(bin, name), ...args], {
      env: { ...process.env, ...env },
      cwd: dir,
    });
    children.push(child);
    return { log, child };
  };
  const file = join(dir, 'toolyard.toml');
  await writeFile(file, config);
  const sets = [
    `models.scripted={ url = "${model.url}" }`,
    'chat.model=scripted/brain',
    'model_search.local_servers=false',
    ...PATIENT,
    ...settings,
  ];
  const serve = async (on) => {
    const listen = `127.0.0.1:${on}`;
    const url = host === undefined ? `http://${listen}` : `http://${host}:${on}`;
    const named = host === undefined ? [] : [`server.public_url=${url}`];
    const server = start('toolyard', [
      'serve',
      '--config',
      file,
      '--listen',
      listen,
      '--data',
      dir,
      '--auth',
      auth,
      ...[...sets, ...named].flatMap((set) => ['--set', set]),
    ]);
    await until('The server', server, async () => (await fetch(`${url}/readyz`)).ok);
    return url;
  };
  const url = await (port === undefined ? onFreePort(serve) : serve(port));

  let token;
  if (auth === 'token')
    token = (await run(join(bin, 'toolyard'), ['token', 'operator', 'boss@example.com', '--config', file, '--data', dir])).trim();
  const api = async (method, path, body, user = USER) => {
    const headers = {
      'X-User-Id': user,
      ...(token && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    };
    const response = await fetch(url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const picture = async (app) =>
    `data:image/svg+xml;base64,${await readFile(new URL(`../../apps/${app}/icon.svg`, import.meta.url), 'base64')}`;
  /** Registers an app and starts its program, which then answers where it was registered. */
  const bring = async (what, program, details, prefix, args, isUp) => {
    const created = await api('POST', '/api/apps', { kind: 'session', ...details });
    const env = { [`${prefix}_API_KEY`]: created.apiKey, [`${prefix}_SIGNING_SECRET`]: created.signingSecret };
    await onFreePort(async (on) => {
      const listen = `127.0.0.1:${on}`;
      await api('PATCH', `/api/apps/${details.packageName}`, { publicUrl: `http://${listen}` });
      const app = start(program, ['--listen', listen, '--server', url, '--package', details.packageName, '--register', ...args], env);
      await until(what, app, () => isUp(listen));
    });
    await api('PUT', `/api/installs/${details.packageName}`);
  };

  const todo = {
    packageName: TODO,
    name: 'To-do list',
    description: 'Keeps what you have to do.',
    appType: 'standard',
    iconUrl: await picture('todo'),
  };
  await bring('The to-do app', 'toolyard-todo', todo, 'TODO', [], async (listen) => {
    // It registers its tools before it listens.
    return (await api('GET', `/api/apps/${TODO}`)).toolCount > 0 && (await fetch(`http://${listen}/health`)).ok;
  });
  if (assistant) {
    const details = {
      packageName: ASSISTANT,
      name: 'Assistant',
      description: 'Answers when you speak.',
      appType: 'background',
      iconUrl: await picture('assistant'),
      permissions: [{ type: 'MICROPHONE' }],
      wants: ['assistant'],
    };
    // Words are a question when they are final: a guess that is followed late by the final words would be one by itself.
    const settingsFile = join(dir, 'assistant.toml');
    await writeFile(
      settingsFile,
      `model = "scripted/brain"\ndata = "${dir}/assistant.db"\n[models.scripted]\nurl = "${model.url}"\n[answer]\nacknowledge_ms = 120000\ncall_s = 120\n[listening]\nsilence_ms = 120000\nlongest_ms = 240000\n`,
    );
    await bring(
      'The assistant',
      'toolyard-assistant',
      details,
      'ASSISTANT',
      ['--config', settingsFile],
      async (listen) => (await fetch(`http://${listen}/health`)).ok,
    );
    await api('PUT', `/api/installs/${ASSISTANT}/assistant`);
  }
  return { url, token, api };
}

function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.on('data', (piece) => (out += piece));
    child.stderr.on('data', (piece) => (err += piece));
    child.on('exit', (code) => (code === 0 ? resolve(out) : reject(new Error(err))));
  });
}
