// What all pages share: menus that close, addresses that say what is shown, and styles that stay on their own page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, calm, focused, isOn, settled } from './browser.mjs';
import { ask, live, PHONE, platform } from './kit.mjs';

const it = platform();
const menu = (page) => page.locator('summary').filter({ hasText: 'User menu' });
const colours = (page) => page.getByLabel('Theme');
const toPage = (page, name) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();

test('the user menu closes on Escape, on a click outside, when focus leaves, and on navigation', async () => {
  const page = await it.page('/apps');
  const opened = async () => {
    await menu(page).click();
    await colours(page).waitFor();
  };
  const closed = () => colours(page).waitFor({ state: 'hidden' });
  await opened();
  await page.keyboard.press('Escape');
  await closed();
  await focused(menu(page));
  await opened();
  await page.getByRole('heading', { name: 'Apps', level: 1 }).click();
  await closed();
  await opened();
  await menu(page).click();
  await closed();
  await opened();
  await page.getByRole('button', { name: 'New app' }).focus();
  await closed();
  await opened();
  await toPage(page, 'Activity');
  await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor();
  await closed();
  await opened();
  await page.goBack();
  await page.getByRole('heading', { name: 'Apps', level: 1 }).waitFor();
  await closed();
  calm(page);
  await page.context().close();
});

test('the page menu on a phone closes the same way', async () => {
  const page = await it.page('/apps', PHONE);
  const button = page.getByRole('button', { name: 'Menu', exact: true });
  const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Library' });
  const isOpen = (open) => page.locator(`.menu-button[aria-expanded=${open}]`).waitFor();
  await button.click();
  await isOpen(true);
  await link.waitFor();
  await page.keyboard.press('Escape');
  await isOpen(false);
  await button.click();
  await isOpen(true);
  await page.mouse.click(370, 780);
  await isOpen(false);
  await button.click();
  await link.click();
  await page.getByRole('heading', { name: 'Library', level: 1 }).waitFor();
  await isOpen(false);
  calm(page, /401/);
  await page.context().close();
});

test('tabs and filters are stored in the URL, restored from it, and undone by the back button', async () => {
  await live(it);
  const page = await it.page('/tools?q=add&show=on');
  await page.getByText('Add a todo', { exact: true }).waitFor();
  await becomes(() => page.getByRole('searchbox', { name: 'Search tools' }).inputValue(), 'add');
  await becomes(() => page.getByLabel('Which tools to show').inputValue(), 'on');
  await page.getByLabel('Which tools to show').selectOption('off');
  await page.waitForURL(/show=off/);
  await page.goBack();
  await page.waitForURL(/show=on/);
  await becomes(() => page.getByLabel('Which tools to show').inputValue(), 'on');
  await page.getByRole('searchbox', { name: 'Search tools' }).fill('delete');
  await page.waitForURL(/q=delete/);
  await page.reload();
  await page.getByText('Delete a todo', { exact: true }).waitFor();
  await page.getByText('Add a todo', { exact: true }).waitFor({ state: 'detached' });

  for (const [path, tab] of [
    ['/settings', 'Models'],
    ['/activity', 'Charts'],
    ['/plugins', 'Catalogue'],
    ['/apps/com.example.todo', 'Versions'],
  ]) {
    await page.goto(new URL(`/console${path}`, page.url()).href);
    const first = await page.getByRole('tab', { selected: true }).textContent();
    await page.getByRole('tab', { name: tab }).click();
    await page.waitForURL(/tab=/);
    await page.reload();
    await page.getByRole('tab', { name: tab, selected: true }).waitFor();
    await page.goBack();
    await page.getByRole('tab', { name: first, selected: true }).waitFor();
  }

  await page.goto(new URL('/console/library?q=123', page.url()).href);
  await page.getByText('Nothing found').waitFor();
  await becomes(() => page.getByRole('searchbox').inputValue(), '123', 'a number is a text as well');
  await page.goto(new URL('/console/settings?tab=tokens', page.url()).href);
  await it.api('POST', '/api/tokens', { name: 'one' });
  const ended = page.getByLabel('Show expired and revoked tokens');
  await ended.click();
  await page.waitForURL(/ended=yes/);
  await page.goBack();
  await isOn(ended, false);
  await page.goto(new URL('/console/activity?outcome=TIMEOUT&hours=168&tab=calls', page.url()).href);
  await becomes(() => page.getByLabel('Outcome').inputValue(), 'TIMEOUT');
  await becomes(() => page.getByLabel('Time').inputValue(), '168');
  await page.getByLabel('Time').selectOption('1');
  await page.waitForURL(/hours=1(&|$)/);
  await page.goBack();
  await page.waitForURL(/hours=168/);
  await becomes(() => page.getByLabel('Time').inputValue(), '168');
  await page.goto(new URL('/console/apps/com.example.todo?tab=try&tool=get_todos', page.url()).href);
  await page.getByLabel('include_completed').waitFor();
  calm(page);
  await page.context().close();
});

/** How everything on the page looks, by where it stands. */
const looks = (page) =>
  page.evaluate(() => {
    const names = [
      'display',
      'margin',
      'padding',
      'border-width',
      'border-radius',
      'background-color',
      'color',
      'font-size',
      'font-weight',
      'list-style-type',
      'white-space',
      'gap',
      'position',
    ];
    const place = (element) =>
      element.matches('main') ? 'main' : `${place(element.parentElement)} > ${element.tagName}.${element.className}`;
    return Object.fromEntries(
      [...document.querySelectorAll('main *:not(svg *)')].map((element) => {
        const style = getComputedStyle(element);
        return [place(element), names.map((name) => `${name}: ${style.getPropertyValue(name)}`).join('; ')];
      }),
    );
  });

test('a page looks the same regardless of previously open pages', async () => {
  await live(it);
  await it.api('POST', '/api/tools/execute', { name: 'com.example.todo:get_todos', arguments: {} });
  const PAGES = {
    Approvals: '/approvals',
    Tools: '/tools',
    Library: '/library',
    Plugins: '/plugins',
    Glasses: '/glasses',
    Activity: '/activity',
    Apps: '/apps',
    Settings: '/settings',
  };
  const travelled = await it.page('/chat');
  await ask(travelled, 'call get_todos');
  await travelled.getByText(/^Done:/).waitFor();
  for (const name of Object.keys(PAGES)) {
    await toPage(travelled, name);
    await travelled.getByRole('heading', { name, level: 1 }).waitFor();
    await settled(travelled);
  }
  for (const [name, path] of Object.entries(PAGES)) {
    await toPage(travelled, name);
    await travelled.getByRole('heading', { name, level: 1 }).waitFor();
    const fresh = await it.page(path);
    await settled(fresh);
    await settled(travelled);
    const [one, other] = [await looks(fresh), await looks(travelled)];
    const common = Object.keys(one).filter((where) => where in other);
    assert.ok(common.length > 10, `${name}: ${common.length} elements`);
    for (const where of common) assert.equal(other[where], one[where], `${name}: ${where}`);
    await fresh.context().close();
  }
  await travelled.context().close();
});
