// Notifications: on and off in a browser, what the service worker shows, and whose they are after a sign-out.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { accessible, becomes, calm, focused, toasted, until } from './browser.mjs';
import { fitsPhone, live, PHONE, platform } from './kit.mjs';
import { deliver, openSettings, shows, startPushService } from './push-kit.mjs';
import { USER } from './stage.mjs';

const TODO = 'com.example.todo';
const OTHER = 'eve@example.com';
const it = platform({ settings: ['net.web_allow=["127.0.0.0/8"]'] }, (it) => live(it));
let service;
before(async () => {
  service = await startPushService();
});
after(() => service?.close());

const browsers = async (user = USER) => (await it.api('GET', '/api/push', undefined, user)).subscriptions;
beforeEach(async () => {
  for (const { id } of await browsers()) await it.api('DELETE', `/api/push/subscriptions/${id}`);
  service.received.length = 0;
});

const card = (page) => page.locator('section').filter({ has: page.getByRole('heading', { name: 'Notifications in this browser' }) });
const list = (page) => page.getByRole('list', { name: 'Your browsers' });
const turnOnButton = (page) => page.getByRole('button', { name: 'Turn on notifications' });
const turnOffButton = (page) => page.getByRole('button', { name: 'Turn off' });
const menu = (page) => page.locator('summary').filter({ hasText: 'User menu' });

/** Turns notifications on, as a user does. */
async function turnOn(page) {
  await turnOnButton(page).click();
  await turnOffButton(page).waitFor();
  await list(page).getByText('this browser').waitFor();
}

const call = (name, args) => it.api('POST', '/api/tools/execute', { name: `${TODO}:${name}`, arguments: args });

/** A call that asks; the id of its approval. */
async function askToDelete(id) {
  const { pending } = await call('delete_todo', { todo_id: id });
  return pending.id;
}

test('notifications are turned on, tested and turned off with the keyboard', async () => {
  const page = await openSettings(it, service);
  await card(page).getByText('off', { exact: true }).waitFor();
  await page.getByText('Notifications are off in all your browsers.').waitFor();
  await accessible(page);
  await turnOnButton(page).focus();
  await page.keyboard.press('Enter');
  await toasted(page, 'Notifications are on in this browser.');
  await card(page).getByText('on', { exact: true }).waitFor();
  await focused(turnOffButton(page));
  const row = list(page).getByRole('listitem');
  await row.getByRole('heading', { name: 'Chrome on Linux this browser' }).waitFor();
  await row.getByText(new RegExp(`Push service ${service.host}\\. Added .*, nothing sent yet\\.`)).waitFor();
  await accessible(page);
  assert.deepEqual(
    (await browsers()).map(({ label, host }) => [label, host]),
    [['Chrome on Linux', service.host]],
  );
  await page.getByRole('button', { name: 'Send a test notification' }).click();
  await toasted(page, 'Test notification sent to 1 browser.');
  await row.getByText(/, last sent /).waitFor();
  await deliver(page, await service.take('test'));
  await shows(page, { title: 'Notifications work', tag: 'test', requireInteraction: false, url: `${it.url}/console/approvals` });
  await page.reload();
  await turnOffButton(page).focus();
  await page.keyboard.press('Enter');
  await toasted(page, 'Notifications are off in this browser.');
  await focused(turnOnButton(page));
  await list(page).getByRole('listitem').waitFor({ state: 'detached' });
  await shows(page);
  assert.deepEqual(await browsers(), []);
  calm(page);
  await page.context().close();
});

test('a question is notified, and its answer replaces it', async () => {
  const page = await openSettings(it, service);
  await turnOn(page);
  const id = await askToDelete('41');
  const question = await service.take('approval.requested');
  await deliver(page, question);
  const shown = { tag: `approval-${id}`, title: 'To-do list: Delete a todo', url: `${it.url}/console/approvals/${id}` };
  await shows(page, { ...shown, requireInteraction: true, silent: false });
  assert.match(JSON.parse(question).body, /todo_id: 41/);
  await it.api('POST', `/api/approvals/${id}`, { answer: 'deny' });
  const answer = await service.take('approval.answered');
  await deliver(page, answer);
  await shows(page, { ...shown, requireInteraction: false, silent: true });
  // An answer to something that is not on the screen shows nothing; what comes after it is shown.
  await deliver(page, JSON.stringify({ ...JSON.parse(answer), id: 'other' }));
  await deliver(page, 'neither JSON nor empty');
  await shows(page, { ...shown, body: 'Denied.' }, { tag: 'approval', title: 'A call waits for your approval', url: undefined, body: '' });
  calm(page);
  await page.context().close();
});

test('a click on a notification opens the approval in the console that is open', async () => {
  const page = await openSettings(it, service);
  await turnOn(page);
  const id = await askToDelete('42');
  await deliver(page, await service.take('approval.requested'));
  await shows(page, { tag: `approval-${id}` });
  await page.evaluate(() => (window.isSamePage = true));
  // Only a person can click, so the worker is told of a click, and what needs a person is replaced.
  const [worker] = page.context().serviceWorkers();
  const focus = await worker.evaluate(async () => {
    const results = [];
    self.WindowClient.prototype.focus = async () => results.push('focused');
    let work;
    self.ExtendableEvent.prototype.waitUntil = (promise) => (work = promise);
    const [notification] = await self.registration.getNotifications();
    self.dispatchEvent(new self.NotificationEvent('notificationclick', { notification }));
    await work;
    return results;
  });
  assert.deepEqual(focus, ['focused']);
  await page.getByRole('heading', { name: 'Approval', exact: true, level: 1 }).waitFor();
  assert.equal(new URL(page.url()).pathname, `/console/approvals/${id}`);
  assert.equal(await page.evaluate(() => window.isSamePage), true, 'without a reload');
  await shows(page);
  await it.api('POST', `/api/approvals/${id}`, { answer: 'deny' });
  calm(page);
  await page.context().close();
});

test('a browser is removed from another one, and the inbox links to the settings', async () => {
  const desk = await openSettings(it, service);
  await turnOn(desk);
  const phone = await openSettings(it, service, {
    ...PHONE,
    userAgent: 'Mozilla/5.0 (Linux; Android 15) Chrome/140.0 Mobile Safari/537.36',
  });
  await turnOn(phone);
  await becomes(() => list(phone).getByRole('listitem').count(), 2);
  await fitsPhone(phone);
  await accessible(phone);
  await phone.getByRole('button', { name: 'Remove Chrome on Linux' }).click();
  await toasted(phone, 'Chrome on Linux is no longer notified.');
  await focused(list(phone));
  await becomes(async () => (await browsers()).map(({ label }) => label), ['Chrome on Android']);
  await turnOffButton(phone).waitFor();
  await phone.goto(`${it.url}/console/approvals`);
  await phone.getByRole('main').getByRole('link', { name: 'Notifications' }).click();
  await phone.getByRole('button', { name: 'Remove Chrome on Android' }).click();
  await turnOnButton(phone).waitFor();
  await becomes(() => browsers(), []);
  calm(desk);
  calm(phone);
  await Promise.all([desk, phone].map((page) => page.context().close()));
});

test('a sign-out ends the notifications of this browser until the same user signs in again', async () => {
  await it.api('PUT', `/api/installs/${TODO}`, undefined, OTHER);
  const page = await openSettings(it, service);
  await turnOn(page);
  await menu(page).click();
  await page.getByRole('button', { name: 'Switch user' }).click();
  await becomes(() => browsers(), []);
  await page.getByRole('button', { name: OTHER }).click();
  await turnOnButton(page).waitFor();
  await becomes(() => page.evaluate(() => localStorage.getItem('test.push')), null);
  await menu(page).click();
  await page.getByRole('button', { name: 'Switch user' }).click();
  await page.getByRole('button', { name: USER }).click();
  await turnOffButton(page).waitFor();
  await becomes(async () => (await browsers()).length, 1);
  assert.deepEqual(await browsers(OTHER), []);
  calm(page, /401/);
  await page.context().close();
});

test('a subscription that the server no longer accepts is renewed when the console starts', async () => {
  const page = await openSettings(it, service);
  await turnOn(page);
  const [{ id }] = await browsers();
  await page.evaluate(() => {
    const kept = JSON.parse(localStorage.getItem('test.push'));
    localStorage.setItem('test.push', JSON.stringify({ ...kept, key: [4, ...kept.key.slice(1).reverse()] }));
  });
  await page.reload();
  await until(async () => {
    const known = await browsers();
    return known.length === 1 && known[0].id !== id;
  });
  await turnOffButton(page).waitFor();
  calm(page);
  await page.context().close();
});

test('the card says why notifications cannot be turned on', async () => {
  const without = async (text, more, prepare) => {
    const page = await openSettings(it, service, more, prepare);
    await page.getByText(text).waitFor();
    assert.equal(await turnOnButton(page).count(), 0);
    await accessible(page);
    calm(page);
    await page.context().close();
  };
  const noPush = () => delete window.PushManager;
  await without(/^This browser does not support web push/, {}, noPush);
  await without(
    /^On iPhone and iPad, .* Add to Home Screen/,
    { ...PHONE, userAgent: 'Mozilla/5.0 (iPhone) Version/18.6 Safari/604.1' },
    noPush,
  );
  await without(/^Browsers allow notifications only on secure pages.*https.*localhost/, {}, () =>
    Object.defineProperty(window, 'isSecureContext', { value: false }),
  );
  await without(/^This browser blocks notifications.*site settings/, {}, () =>
    Object.defineProperty(Notification, 'permission', { value: 'denied' }),
  );
});

test('a permission that the user does not give leaves notifications off', async () => {
  const page = await openSettings(it, service, { permissions: undefined });
  await turnOnButton(page).click();
  await toasted(page, 'The browser did not allow notifications.');
  assert.deepEqual(await browsers(), []);
  calm(page);
  await page.context().close();
});

test('notifications that the operator switched off, or that are of another user, cannot be turned on', async () => {
  const page = await openSettings(it, service);
  await page.route('**/api/push', (route) => route.fulfill({ json: { publicKey: null, subscriptions: [] } }));
  await page.reload();
  await page.getByText('The operator of this server has switched web push off.').waitFor();
  assert.equal(await turnOnButton(page).count(), 0);
  await page.route('**/api/me', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), name: 'boss@example.com' } });
  });
  await page.reload();
  await page.getByText(`You act for ${USER}.`).waitFor();
  assert.equal(await turnOnButton(page).count(), 0);
  await accessible(page);
  calm(page);
  await page.context().close();
});
