// The glasses where a token is needed: a browser's socket sends no headers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calm, launch, open } from './browser.mjs';
import { wear } from './glasses-app.mjs';
import { stage } from './stage.mjs';

test('with a token the socket is opened with a ticket, never with the token', async () => {
  const it = await stage({ port: process.env.STAGE_PORT, auth: 'token', settings: ['net.allow_loopback=true'] });
  const browser = await launch();
  try {
    const page = await open(browser, process.env.CONSOLE_URL ?? it.url, '/glasses', { token: it.token });
    const opened = page.waitForEvent('websocket');
    await wear(page);
    const url = (await opened).url();
    assert.match(url, /\/glasses-ws\?ticket=/);
    assert.ok(!url.includes(it.token));
    calm(page);
  } finally {
    await browser.close();
    await it.close();
  }
});
