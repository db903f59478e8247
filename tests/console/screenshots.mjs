// Pictures of every page: `node tests/console/screenshots.mjs FOLDER [PAGE …]`, light and dark, wide and on a phone, with some life on
// the platform.
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { launch, open, settled } from './browser.mjs';
import { wear } from './glasses-app.mjs';
import { stage } from './stage.mjs';

const [folder = 'screenshots', ...only] = process.argv.slice(2);
const SIZES = { wide: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };
const TODO = 'com.example.todo';

/** What is done on a page before it is taken. */
const nothing = async () => {};
const PAGES = {
  chat: async (page) => {
    for (const [place, text] of ['Show me a chart of the apples', 'What is on my list?'].entries()) {
      await page.getByRole('textbox', { name: /message/i }).fill(text);
      await page.keyboard.press('Enter');
      await page
        .getByText(/^Done:/)
        .nth(place)
        .waitFor();
    }
  },
  tools: nothing,
  library: nothing,
  plugins: async (page) => {
    await page.getByRole('button', { name: 'Add a plugin' }).first().click();
    await page.getByLabel('Or paste it').fill(await readFile(new URL('../../examples/plugins/time.json', import.meta.url), 'utf8'));
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('dialog').getByText('Unsigned').first().waitFor();
  },
  glasses: async (page) => {
    await wear(page, 'Even Realities G1');
    // It runs on between pages.
    const start = page.getByRole('button', { name: 'Start Assistant' });
    await start.or(page.getByRole('button', { name: 'Stop Assistant' })).waitFor();
    if (await start.isVisible()) await start.click();
    await page.getByText('An app is listening').waitFor();
    await page.getByLabel('What you say').fill('hey toolyard, what is on my list?');
    await page.keyboard.press('Enter');
    await page.getByText('Drawn by').waitFor();
  },
  activity: nothing,
  'activity plots': async (page) => {
    await page.getByRole('tab', { name: 'Charts' }).click();
    await page.getByRole('img').first().waitFor();
  },
  'activity call': async (page) => {
    await page
      .getByRole('row')
      .nth(1)
      .getByRole('link')
      .or(page.getByRole('link', { name: 'add_todo' }))
      .first()
      .click();
    await page.getByText('Trace').first().waitFor();
  },
  approvals: nothing,
  'approvals?tab=remembered': nothing,
  apps: nothing,
  [`apps/${TODO}`]: nothing,
  [`apps/${TODO}?tab=tools`]: nothing,
  [`apps/${TODO}?tab=try`]: async (page) => {
    await page.getByLabel('Tool', { exact: true }).selectOption({ index: 1 });
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('What happened').waitFor();
  },
  [`apps/${TODO}?tab=versions`]: nothing,
  people: nothing,
  'people/ada@example.com': nothing,
  ...Object.fromEntries(
    ['account', 'tokens', 'clients', 'notifications', 'grants', 'upstreams', 'plugins', 'approvals', 'models', 'about'].map((tab) => [
      `settings?tab=${tab}`,
      nothing,
    ]),
  ),
  'sign-in': nothing,
};

const it = await stage({ assistant: process.env.ASSISTANT !== '0' });
const browser = await launch();
await mkdir(folder, { recursive: true });
try {
  const glasses = new WebSocket(`${it.url.replace('http', 'ws')}/glasses-ws?user=ada@example.com`);
  await new Promise((resolve, reject) => {
    glasses.onopen = resolve;
    glasses.onerror = reject;
  });
  glasses.send(JSON.stringify({ type: 'connection_init' }));
  for (const item of ['buy milk', 'water the plants', 'book the train to Hamburg']) {
    await it.api('POST', '/api/tools/execute', { name: `${TODO}:add_todo`, arguments: { todo_item: item } });
  }
  await it.api('POST', '/api/tools/execute', { name: `${TODO}:delete_todo`, arguments: { todo_id: '99' } }).catch(() => {});
  for (const [name, act] of Object.entries(PAGES)) {
    if (only.length > 0 && !only.includes(name)) continue;
    for (const [size, viewport] of Object.entries(SIZES)) {
      for (const colorScheme of ['light', 'dark']) {
        const page = await open(browser, process.env.CONSOLE_URL ?? it.url, name === 'sign-in' ? '/' : `/${name.split(' ')[0]}`, {
          colorScheme,
          viewport,
          ...(name === 'sign-in' && { user: null }),
        });
        await page.getByRole('heading', { level: 1 }).first().waitFor();
        await settled(page);
        await act(page).catch((error) => console.error(name, size, String(error).slice(0, 300)));
        const file = join(folder, `${name.replace(/[/?= ]/g, '-')}-${size}-${colorScheme}.png`);
        await page.screenshot({ path: file });
        if (page.troubles.length > 0) console.error(name, size, colorScheme, page.troubles);
        await page.context().close();
      }
    }
  }
} finally {
  await browser.close();
  await it.close();
}
