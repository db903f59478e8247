// The glasses simulator: what it shows, hears and says, against the real server with real apps.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { accessible, becomes, calm, flip, launch, open, until } from './browser.mjs';
import { appRow, display, events, glassesApp, say, wear } from './glasses-app.mjs';
import { fitsPhone, gate } from './kit.mjs';
import { stage } from './stage.mjs';

const TODO = 'com.example.todo';
const call = (it, name, args = {}) => it.api('POST', '/api/tools/execute', { name: `${TODO}:${name}`, arguments: args });

describe('glasses', () => {
  let it;
  let browser;
  let base;
  before(async () => {
    [it, browser] = await Promise.all([stage({ port: process.env.STAGE_PORT }), launch()]);
    base = process.env.CONSOLE_URL ?? it.url;
  });
  after(async () => {
    await browser?.close();
    await it?.close();
  });
  /** Each test begins without a session. */
  const fresh = async (options) => {
    await it.api('DELETE', '/api/session').catch(() => undefined);
    return open(browser, base, '/glasses', options);
  };

  test('an app is started, draws on the display at its real size, and is stopped', async () => {
    const page = await fresh();
    await page.getByText('Connect the glasses to see their tools.').waitFor();
    await accessible(page);
    await wear(page, 'Even Realities G1');
    await page.getByRole('button', { name: 'Start To-do list' }).click();
    await display(page).getByText('Nothing to do').waitFor();
    await page.getByText('Drawn by To-do list').waitFor();
    await appRow(page, 'To-do list').getByText('running').waitFor();
    await appRow(page, 'To-do list').getByText('foreground').waitFor();
    await page.getByText('640 × 200 pixels, 5 lines, green').waitFor();
    await until(async () => {
      const { width, height } = await display(page).boundingBox();
      return Math.abs(width / height - 640 / 200) < 0.02;
    });
    await accessible(page);
    await page.getByRole('button', { name: 'Stop To-do list' }).click();
    await display(page).getByText('The display is empty').waitFor();
    await page.getByRole('button', { name: 'Start To-do list' }).waitFor();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByText('off', { exact: true }).waitFor();
    calm(page);
    await page.context().close();
  });

  test('a tool call starts an app, and its bitmap is drawn', async () => {
    const page = await fresh();
    // The page begins to listen for calls when the glasses are on; what ended before it is heard is told all the same.
    const stream = gate();
    await page.route('**/api/calls/stream*', stream.hold);
    await wear(page);
    await page
      .getByText(/tools? can be called/)
      .first()
      .waitFor();
    const { mentraExtensions } = await call(it, 'add_todo', { todo_item: 'buy milk' });
    assert.equal(mentraExtensions.suppressVoiceResponse, true);
    await display(page).getByText('1. buy milk').waitFor();
    await appRow(page, 'To-do list').getByText('woken by a call').waitFor();
    await events(page).getByText('To-do list started').waitFor();
    stream.open();
    const told = events(page)
      .getByRole('listitem')
      .filter({ hasText: /To-do list finished add_todo: OK after .*, woken in/ });
    await told.waitFor();
    await call(it, 'get_todos');
    await events(page)
      .getByText(/To-do list finished get_todos: OK/)
      .waitFor();
    await becomes(() => told.count(), 1, 'once, and not again with the next one');
    calm(page);
    await page.context().close();
  });

  test('button, head position, battery and speech events reach an app, and it speaks', async () => {
    const app = await glassesApp(it, { permissions: [{ type: 'MICROPHONE' }] });
    try {
      const page = await fresh();
      await wear(page, 'Mentra Live');
      await page.getByText('These glasses have no display.').waitFor();
      await accessible(page);
      await page.getByLabel('Model').selectOption('Simulated Glasses');
      await page.getByRole('button', { name: 'Start Echo' }).click();
      await display(page).getByText('ready').waitFor();
      await page.getByText('An app is listening').waitFor();
      await page.getByRole('button', { name: 'Press', exact: true }).click();
      await display(page).getByText('pressed short').waitFor();
      await page.getByRole('button', { name: 'Long press' }).click();
      await display(page).getByText('pressed long').waitFor();
      await page.getByLabel('What you say').pressSequentially('hel');
      await display(page).getByText('hearing: hel').waitFor();
      await say(page, 'hello there');
      await display(page).getByText('heard: hello there').waitFor();
      await flip(page.getByLabel('Charging'), true);
      await display(page).getByText('battery 80').waitFor();
      await page.getByLabel('Model').selectOption('Even Realities G2');
      await page.getByRole('button', { name: 'Look up' }).click();
      await display(page).getByText('head up').waitFor();
      await page.getByRole('button', { name: 'Swipe down' }).click();
      await display(page).getByText('touched down_swipe').waitFor();

      await flip(page.getByRole('switch', { name: 'Mute' }), true);
      app.send({
        type: 'audio_play_request',
        requestId: 'r1',
        audioUrl: `${it.url.replace('http:', 'https:')}/api/tts?text=milk%20is%20on%20the%20list`,
      });
      const aloud = page.getByRole('list', { name: 'Spoken' });
      await aloud.getByText('milk is on the list').waitFor();
      await aloud.getByText('muted').waitFor();
      await until(() => app.heard.some((one) => one.type === 'audio_play_response' && one.requestId === 'r1' && one.success));
      calm(page);
      await page.context().close();
    } finally {
      app.close();
      await it.api('DELETE', '/api/apps/com.example.echo');
    }
  });

  test('other glasses have other tools, and the page shows the reason', async () => {
    const app = await glassesApp(it, {
      packageName: 'com.example.maps',
      name: 'Maps',
      hardwareRequirements: [{ type: 'DISPLAY', level: 'REQUIRED' }],
    });
    try {
      const page = await fresh();
      await wear(page, 'Even Realities G1');
      const shown = page.getByRole('list', { name: 'Tools that can be called' });
      await page.getByText('Tools that can be called', { exact: true }).click();
      await shown.getByText('com.example.maps:ping').waitFor();
      await page.getByLabel('Model').selectOption('Mentra Live');
      const hidden = page.getByRole('list', { name: 'Hidden tools' }).getByRole('listitem').filter({ hasText: 'com.example.maps:ping' });
      await hidden.getByText(/display/i).waitFor();
      await shown.getByText('com.example.maps:ping').waitFor({ state: 'detached' });
      await appRow(page, 'Maps').getByText('needs other glasses').waitFor();
      await page.getByLabel('Model').selectOption('Even Realities G1');
      await hidden.waitFor({ state: 'detached' });
      calm(page);
      await page.context().close();
    } finally {
      app.close();
      await it.api('DELETE', '/api/apps/com.example.maps');
    }
  });

  test('glasses stay connected while another page is open, and reconnect after a lost connection', async () => {
    await it.api('DELETE', '/api/session').catch(() => undefined);
    const page = await open(browser, base, '/settings?tab=about');
    const sockets = [];
    await page.routeWebSocket(/glasses-ws/, (socket) => {
      sockets.push(socket);
      socket.connectToServer();
    });
    await page.getByRole('link', { name: 'Glasses' }).click();
    await wear(page, 'Even Realities G1');
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    assert.equal((await it.api('GET', '/api/session')).deviceConnected, true);
    await page.getByRole('link', { name: 'Glasses' }).click();
    await page.getByText('connected', { exact: true }).waitFor();
    assert.equal(sockets.length, 1);
    await sockets[0].close({ code: 1012, reason: 'the server stops' });
    await events(page).getByText('The connection was lost. Reconnecting.').waitFor();
    await page.getByText('connected', { exact: true }).waitFor();
    assert.equal(sockets.length, 2);
    await page.context().close();
  });

  test('a second device replaces the first, which does not reconnect', async () => {
    const [one, two] = [await fresh(), await open(browser, base, '/glasses')];
    await wear(one);
    await wear(two);
    await one.getByText('Another device of this user connected, so these glasses were turned off.').first().waitFor();
    await one.getByRole('button', { name: 'Connect', exact: true }).waitFor();
    await two.getByText('connected', { exact: true }).waitFor();
    await Promise.all([one.context().close(), two.context().close()]);
  });

  test('on a phone nothing overflows', async () => {
    const page = await fresh({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    await wear(page, 'Even Realities G1');
    await page.getByRole('button', { name: 'Start To-do list' }).click();
    await page.getByText('Drawn by To-do list').waitFor();
    await fitsPhone(page);
    await accessible(page);
    await page.context().close();
  });
});
