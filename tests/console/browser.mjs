// A real Chromium for a test file, and what every test does with it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium } from 'playwright-core';
import { USER } from './stage.mjs';

/**
 * How long anything may take that a test waits for. Long, because it says only how slow a machine may be: tests wait for
 * events, so on a fast machine nothing waits that long.
 */
export const PATIENCE_MS = 120_000;

// A page that the test itself answers with comes from no address, and may open no socket to this machine.
const FROM_FOLDER = process.env.CONSOLE_DIST ? ['--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets'] : [];

const candidates = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** `more`: further switches of the browser. */
export function launch(...more) {
  const executablePath = candidates.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error('No Chromium: install it (apt-get install chromium), or name it in CHROMIUM.');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', ...FROM_FOLDER, ...more] });
}

/** Every page of the console listens to these. They end with the credential, so a page notices by itself that it was revoked. */
const STREAMS = ['**/api/changes', '**/api/approvals/events'];

/**
 * A page of the console, signed in. `live: false`: it does not hear of changes, so that nothing happens but what the test does. What goes
 * wrong in it fails the test: errors on its console, requests to other hosts, breaches of its policy.
 */
export async function open(
  browser,
  url,
  path,
  { user = USER, token, colorScheme = 'light', viewport = { width: 1280, height: 860 }, live = true, ...more } = {},
) {
  const context = await browser.newContext({ colorScheme, viewport, reducedMotion: 'reduce', ...more });
  context.setDefaultTimeout(PATIENCE_MS);
  await context.addInitScript(noteToasts);
  if (process.env.CONSOLE_DIST) await context.route('**/console/**', fromFolder);
  if (!live) for (const stream of STREAMS) await context.route(stream, () => new Promise(() => {}));
  const session = token ? { kind: 'token', token } : { kind: 'dev', user };
  // Not in frames without an origin: those have no storage.
  if (user !== null)
    await context.addInitScript(
      (kept) => self.origin !== 'null' && localStorage.setItem('toolyard.session', kept),
      JSON.stringify(session),
    );
  const page = await context.newPage();
  closeQuietly(context);
  page.troubles = [];
  page.on('console', (message) => message.type() === 'error' && page.troubles.push(message.text()));
  page.on('pageerror', (error) => page.troubles.push(String(error)));
  page.underway = new Set();
  for (const over of ['requestfinished', 'requestfailed']) page.on(over, (request) => page.underway.delete(request));
  page.on('request', (request) => {
    if (!isStream(request)) page.underway.add(request);
    const { protocol, host } = new URL(request.url());
    if (/^(http|ws)/.test(protocol) && host !== new URL(url).host) page.troubles.push(`asked ${request.url()}`);
  });
  await page.goto(`${url}/console${path}`);
  return page;
}

/** A request that a test answers itself may be under way when its context is closed. Its error would fail the file after the test has ended. */
function closeQuietly(context) {
  const close = context.close.bind(context);
  context.close = async (options) => {
    await Promise.all([context, ...context.pages()].map((one) => one.unrouteAll({ behavior: 'ignoreErrors' })));
    await close(options);
  };
}

const TYPES = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
};

/** CONSOLE_DIST: the console comes from that folder, with the headers of the server, which so need not be built for each change. */
async function fromFolder(route) {
  const path = new URL(route.request().url()).pathname.slice('/console/'.length);
  const file = join(process.env.CONSOLE_DIST, path);
  const type = TYPES[extname(path)];
  // A redirect leads to a page as the server has it, with files of its own.
  if (type !== undefined) return existsSync(file) ? route.fulfill({ contentType: type, body: readFileSync(file) }) : route.fallback();
  const response = await route.fetch();
  return route.fulfill({ response, body: readFileSync(join(process.env.CONSOLE_DIST, 'index.html')) });
}

/** Runs in the page: short messages go by themselves, so what they said is kept for tests that look later. */
function noteToasts() {
  window.toasts = [];
  new MutationObserver(() => {
    for (const { textContent } of document.querySelectorAll('.toast'))
      if (!window.toasts.includes(textContent)) window.toasts.push(textContent);
  }).observe(document, { childList: true, subtree: true });
}

/** A short message said this, now or before. */
export const toasted = (page, text) => page.waitForFunction((words) => window.toasts.some((one) => one.includes(words)), text);

/** Streams stay open. */
const isStream = (request) => request.headers().accept?.includes('text/event-stream') ?? false;

/**
 * Waits until no request of the page is under way. What a page loads by itself may otherwise fail at the next step of a test, for
 * example because its token is revoked there, and bring up a dialog that takes the keys meant for the page.
 */
export async function quiet(page) {
  await settled(page);
  await until(() => page.underway.size === 0);
}

/** Nothing is being loaded any more, and what was loaded is drawn. Streams stay open, so the network is never idle. */
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector('h1') !== null && document.querySelector('.loading') === null);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/**
 * Turns a switch on or off and waits until it says so. `check()` looks once, right after the click, at the element that it
 * clicked; where a list is drawn anew at that moment it fails.
 */
export async function flip(toggle, on) {
  await isOn(toggle, !on);
  await toggle.click();
  await isOn(toggle, on);
}

/** Waits until a switch or a checkbox is on or off. */
export const isOn = (toggle, on) => toggle.and(toggle.page().locator(on ? ':checked' : ':not(:checked)')).waitFor();

/** Waits until a button or a field cannot be used. */
export const disabled = (element) => element.and(element.page().locator(':disabled')).waitFor();

/** Waits until a field, a button or a link has the focus. */
export const focused = (element) => element.and(element.page().locator(':focus')).waitFor();

/**
 * Waits until `read` gives this. What is read from a page once, right after something else was seen, may be older than what was
 * seen: pages are drawn in parts. That something is not there is asserted at once instead, after what would have brought it.
 */
export async function becomes(read, expected, message) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await read();
    if (isDeepStrictEqual(value, expected)) return;
    if (Date.now() > end) assert.deepEqual(value, expected, message);
    await pause();
  }
}

/** Asks until the answer is yes. */
export async function until(ask) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`no yes within ${PATIENCE_MS} ms to ${ask}`);
    await pause();
  }
}

/** Between two looks at something that tells nobody when it changes. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

/**
 * No serious finding of axe. Axe reads an element's style and its state at different moments, so a page that changes by itself while it
 * looks (a button that is enabled after a pause) can be reported for a mixture of both: a finding counts only if nothing changed meanwhile.
 */
export async function accessible(page) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const { findings, changed } = await audit(page);
    if (findings.length === 0) return;
    if (!changed || Date.now() > end) assert.deepEqual(findings, []);
  }
}

/**
 * One look of axe, and whether the page changed in that time. In its legacy mode axe leaves out frames of other origins, of which the
 * console shows none, and opens no page of its own for each look, which took longer than the look itself.
 */
async function audit(page) {
  const changes = await page.evaluateHandle(() => {
    const observer = new MutationObserver(() => {
      observer.changed = true;
    });
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    return observer;
  });
  const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).analyze();
  const changed = await changes.evaluate((observer) => {
    const waiting = observer.takeRecords().length > 0;
    observer.disconnect();
    return waiting || observer.changed === true;
  });
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const findings = serious.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .slice(0, 3)
        .map((node) => `${node.html} ${node.failureSummary}`)
        .join(' | ')}`,
  );
  return { findings, changed };
}

/** Nothing went wrong in the page that the test did not expect. */
export function calm(page, ...expected) {
  const left = page.troubles.filter((text) => !expected.some((pattern) => pattern.test(text)));
  assert.deepEqual(left, []);
}
