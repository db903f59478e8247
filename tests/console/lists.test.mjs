// Long lists: 500 apps with 3,000 tools are all there, and only what is near the screen is drawn.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, calm, settled, until } from './browser.mjs';
import { live, platform } from './kit.mjs';

const APPS = 500;
/** The to-do app is there as well. */
const MADE = APPS - 1;
const TOOLS = 6;
/** Far more than fits on a screen, far less than there is. */
const MOST_DRAWN = 400;

const it = platform({ settings: [`quotas.apps_per_developer=${APPS}`, `quotas.installs_per_user=${APPS}`] }, async (it) => {
  await live(it);
  const number = (place) => String(place).padStart(3, '0');
  for (let place = 0; place < MADE; place += 1) {
    const tools = Array.from({ length: TOOLS }, (_, tool) => ({
      name: `tool_${tool}`,
      title: `Tool ${tool} of ${number(place)}`,
      description: 'Does one of many things',
      inputSchema: { type: 'object', properties: { a: { type: 'string' } } },
    }));
    await it.api('POST', '/api/apps', {
      packageName: `com.example.n${number(place)}`,
      name: `Number ${number(place)}`,
      description: 'One of many',
      tools,
    });
    await it.api('PUT', `/api/installs/com.example.n${number(place)}`);
  }
});

/** From a key that is pressed to what is drawn for it, as the page itself measures it. */
async function searched(page, box, text) {
  await box.focus();
  const took = page.evaluate(
    () =>
      new Promise((resolve) =>
        document.addEventListener(
          'input',
          () => {
            const begun = performance.now();
            requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begun)));
          },
          { capture: true, once: true },
        ),
      ),
  );
  await box.fill(text);
  return took;
}

test('grants: every app is found by its name', async (t) => {
  const page = await it.page('/settings?tab=grants');
  const rows = page.getByRole('list', { name: 'Your apps' }).getByRole('listitem');
  await rows.nth(APPS - 1).waitFor();
  await becomes(() => rows.count(), APPS);
  await rows.filter({ hasText: 'Number 498' }).scrollIntoViewIfNeeded();
  await page.getByRole('switch', { name: /Number 498/ }).waitFor();
  assert.ok((await page.getByRole('switch').count()) < MOST_DRAWN);
  t.diagnostic(`search in ${APPS} apps: ${Math.round(await searched(page, page.getByLabel('Search your apps'), 'Number 123'))} ms`);
  await page.getByText(`1 of ${APPS} apps`).waitFor();
  await page.getByRole('switch', { name: /Number 123/ }).waitFor();
  calm(page);
  await page.context().close();
});

test('tools: every group and tool is listed, and search responds at once', async (t) => {
  const page = await it.page('/tools');
  await page.getByText(/^\d+ tools on/).waitFor();
  const groups = page.locator('section.tools-group');
  await until(async () => (await groups.count()) >= APPS);
  const drawn = () => page.getByRole('switch').count();
  assert.ok((await drawn()) < MOST_DRAWN, `${await drawn()} drawn`);
  const box = page.getByRole('searchbox', { name: 'Search tools' });
  t.diagnostic(
    `search in ${MADE * TOOLS} tools: ${Math.round(await searched(page, box, 'Tool 5 of 321'))} ms, all again: ${Math.round(await searched(page, box, ''))} ms`,
  );
  await searched(page, box, 'Tool 5 of 321');
  await page.getByRole('switch', { name: 'Tool 5 of 321', exact: true }).waitFor();
  await becomes(() => groups.count(), 1);
  await searched(page, box, '');
  await groups.filter({ hasText: 'Number 400' }).scrollIntoViewIfNeeded();
  await page.getByRole('switch', { name: 'Tool 5 of 400', exact: true }).waitFor();
  assert.ok((await drawn()) < MOST_DRAWN, `${await drawn()} drawn`);
  calm(page);
  await page.context().close();
});

test('apps and library: all entries are reachable', async () => {
  const apps = await it.page('/apps');
  const rows = apps.locator('.app-list > li');
  await rows.nth(APPS - 1).waitFor();
  await becomes(() => rows.count(), APPS);
  await searched(apps, apps.getByLabel('Search apps'), 'n321');
  await apps.getByRole('link', { name: 'Number 321' }).waitFor();
  await becomes(() => rows.count(), 1);
  await apps.context().close();
  const library = await it.page('/library');
  await settled(library);
  const cards = library.locator('.library-grid > li');
  // Scrolling is enough: the next page comes by itself. It may come between a scroll and a look, so each look scrolls again.
  await until(async () => {
    await cards.last().scrollIntoViewIfNeeded();
    return (await cards.count()) >= APPS;
  });
  await becomes(() => cards.count(), APPS);
  await library.getByLabel('Search the library').fill('Number 321');
  await library.getByRole('heading', { name: 'Number 321' }).waitFor();
  await cards.nth(1).waitFor({ state: 'detached' });
  calm(library);
  await library.context().close();
});
