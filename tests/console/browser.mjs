// A real Chromium for a test file, and what every test does with it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium } from 'playwright-core';
import { USER } from './stage.mjs';

const candidates = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** `more`: further switches of the browser. */
export function launch(...more) {
  const executablePath = candidates.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error('No Chromium: install it (apt-get install chromium), or name it in CHROMIUM.');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', ...more] });
}

/**
 * A page of the console, signed in. What goes wrong in it fails the test: errors on its console, requests to other hosts,
 * breaches of its policy.
 */
export async function open(browser, url, path, { user = USER, token, colorScheme = 'light', viewport = { width: 1280, height: 860 }, ...more } = {}) {
  const context = await browser.newContext({ colorScheme, viewport, reducedMotion: 'reduce', ...more });
  const session = token ? { kind: 'token', token } : { kind: 'dev', user };
  // Not in frames without an origin: those have no storage.
  if (user !== null) await context.addInitScript((kept) => self.origin !== 'null' && localStorage.setItem('toolyard.session', kept), JSON.stringify(session));
  const page = await context.newPage();
  page.troubles = [];
  page.on('console', (message) => message.type() === 'error' && page.troubles.push(message.text()));
  page.on('pageerror', (error) => page.troubles.push(String(error)));
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    if (/^(http|ws)/.test(protocol) && host !== new URL(url).host) page.troubles.push(`asked ${request.url()}`);
  });
  await page.goto(`${url}/console${path}`);
  return page;
}

/** No serious finding of axe, and nothing wrong in the page so far. */
export async function accessible(page) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const told = serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary}`).join(' | ')}`);
  assert.deepEqual(told, []);
}

/** Nothing went wrong in the page that the test did not expect. */
export function calm(page, ...expected) {
  const left = page.troubles.filter((text) => !expected.some((pattern) => pattern.test(text)));
  assert.deepEqual(left, []);
}
