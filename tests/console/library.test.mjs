// The library: what fits, what it asks for, install and remove.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, becomes, calm, launch, open } from './browser.mjs';
import { at, consoleOf, fitsPhone, PHONE, wear } from './kit.mjs';
import { stage } from './stage.mjs';

const CAMERA = 'com.example.camera';
let it;
let browser;

const visit = (more) => open(browser, consoleOf(it), '/library', more);
const card = (page, name) => page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) });

before(async () => {
  [it, browser] = await Promise.all([stage(at), launch()]);
  await it.api('POST', '/api/apps', {
    packageName: CAMERA,
    name: 'Snapshots',
    description: 'Takes pictures.',
    permissions: [{ type: 'CAMERA', description: 'To take them' }],
    hardwareRequirements: [{ type: 'CAMERA', level: 'REQUIRED' }],
    tools: [{ name: 'take_picture', title: 'Take a picture', description: 'Takes one now', inputSchema: { type: 'object' } }],
  });
});
after(async () => {
  await browser?.close();
  await it?.close();
});

test('an app is installed with its permissions described, and removed after a confirmation', async () => {
  const page = await visit();
  const snapshots = card(page, 'Snapshots');
  await snapshots.getByText('No glasses connected').waitFor();
  await snapshots.getByText('takes pictures and video while you have it open').waitFor();
  await snapshots.getByText('“To take them”').waitFor();
  await snapshots.getByText('1 tool').click();
  await snapshots.getByText('Takes one now').waitFor();
  await accessible(page);
  await snapshots.getByRole('button', { name: 'Install Snapshots' }).click();
  await snapshots.getByText('Installed').waitFor();
  const installed = async () => (await it.api('GET', '/api/installs')).installs.map(({ packageName }) => packageName);
  assert.ok((await installed()).includes(CAMERA));
  await snapshots.getByRole('button', { name: 'Remove Snapshots' }).click();
  const ask = page.getByRole('dialog', { name: 'Remove Snapshots?' });
  await ask.getByText('is deleted').waitFor();
  await accessible(page);
  await ask.getByRole('button', { name: 'Cancel' }).click();
  assert.ok((await installed()).includes(CAMERA));
  await snapshots.getByRole('button', { name: 'Remove Snapshots' }).click();
  await ask.getByRole('button', { name: 'Remove', exact: true }).click();
  await snapshots.getByRole('button', { name: 'Install Snapshots' }).waitFor();
  assert.ok(!(await installed()).includes(CAMERA));
  calm(page, /401/);
  await page.context().close();
});

test('an app that requests a grant gets it only after an explicit confirmation', async () => {
  const HELPER = 'com.example.helper';
  await it.api('POST', '/api/apps', { packageName: HELPER, name: 'Helper', wants: ['assistant'] });
  const granted = async () => (await it.api('GET', '/api/installs')).installs.find(({ packageName }) => packageName === HELPER)?.assistant;
  const page = await visit();
  const helper = card(page, 'Helper');
  await helper.getByText('Requests a grant').waitFor();
  const ask = page.getByRole('dialog', { name: 'Install Helper?' });
  await helper.getByRole('button', { name: 'Install Helper' }).click();
  await ask.getByText('Call the tools of your other apps.').waitFor();
  await accessible(page);
  await ask.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await granted(), undefined, 'not installed');
  await helper.getByRole('button', { name: 'Install Helper' }).click();
  await ask.getByRole('button', { name: 'Install without it' }).click();
  await helper.getByRole('button', { name: 'Remove Helper' }).waitFor();
  assert.equal(await granted(), false, 'what it wants it does not have');
  await helper.getByRole('button', { name: 'Allow the grant of Helper' }).click();
  await page.getByRole('dialog', { name: 'Allow the grant of Helper?' }).getByRole('button', { name: 'Allow', exact: true }).click();
  await helper.getByText('allowed', { exact: true }).waitFor();
  assert.equal(await granted(), true);
  await it.api('DELETE', `/api/installs/${HELPER}`);
  await helper.getByRole('button', { name: 'Install Helper' }).click();
  await ask.getByRole('button', { name: 'Allow and install' }).click();
  await helper.getByText('allowed', { exact: true }).waitFor();
  assert.equal(await granted(), true);
  await it.api('DELETE', `/api/apps/${HELPER}`);
  calm(page, /401/);
  await page.context().close();
});

test('the library shows which apps fit the glasses, and has a search', async () => {
  const wearer = await visit();
  await wear(wearer, 'Even Realities G1');
  const page = await visit();
  await page.getByText('Your glasses: Even Realities G1').waitFor();
  await card(page, 'Snapshots').getByText('Needs a camera; your glasses have none').waitFor();
  await card(page, 'To-do list').getByText('Fits your Even Realities G1').waitFor();
  await accessible(page);
  await page.getByLabel('Search the library').fill('snap');
  await card(page, 'To-do list').waitFor({ state: 'detached' });
  await card(page, 'Snapshots').waitFor();
  await page.getByLabel('Search the library').fill('nobody has this');
  await page.getByText('Nothing found').waitFor();
  calm(page);
  await page.context().close();
  await wearer.context().close();
});

test('on a phone nothing overflows', async () => {
  const page = await visit(PHONE);
  await card(page, 'Snapshots').waitFor();
  await fitsPhone(page);
  await accessible(page);
  await page.context().close();
});

test('app icons load from the server or their own URL, with initials as a fallback', async () => {
  const [ELSEWHERE, LOST] = ['com.example.elsewhere', 'com.example.lost'];
  for (const packageName of [ELSEWHERE, LOST])
    await it.api('POST', '/api/apps', { packageName, name: packageName, iconUrl: 'https://pictures.example.com/i.svg' });
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect width="1" height="1"/></svg>';
  const page = await visit();
  // The world is not there for tests: what the server would fetch is told in its place.
  await page.route(`**/api/apps/${ELSEWHERE}/icon`, (route) => route.fulfill({ contentType: 'image/svg+xml', body: drawing }));
  await page.reload();
  const shown = (name) =>
    card(page, name)
      .locator('img.app-icon')
      .evaluate((picture) => picture.decode().then(() => picture.complete && picture.naturalWidth > 0));
  await becomes(() => shown('To-do list'), true);
  await card(page, ELSEWHERE).locator('img.app-icon').waitFor();
  await becomes(() => shown(ELSEWHERE), true);
  await card(page, LOST).locator('.avatar').waitFor();
  assert.equal(await card(page, LOST).locator('img').count(), 0);
  // Nobody else was asked, which the page would have noted. Without glasses there is no session.
  calm(page, /40[14]/);
});
