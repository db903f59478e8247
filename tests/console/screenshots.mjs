// Pictures of every page: `node tests/console/screenshots.mjs FOLDER [PAGE …]`, light and dark, wide and on a phone, with some life on
// the platform.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { launch, open } from './browser.mjs';
import { stage } from './stage.mjs';

const [folder = 'screenshots', ...only] = process.argv.slice(2);
const SIZES = { wide: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };
const TODO = 'com.example.todo';

/** What is done on a page before it is taken. */
const PAGES = {
  chat: async (page) => {
    for (const text of ['What is on my list?', 'Remind me to call Bob']) {
      await page.getByRole('textbox', { name: /message/i }).fill(text);
      await page.keyboard.press('Enter');
      await page.getByText(/^Done:/).nth(text.startsWith('What') ? 0 : 1).waitFor();
    }
  },
  tools: async () => {},
  library: async () => {},
  plugins: async () => {},
  glasses: async (page) => {
    const connect = page.getByRole('button', { name: /^connect/i });
    if (await connect.isVisible().catch(() => false)) await connect.click();
  },
  activity: async () => {},
  apps: async () => {},
  [`apps/${TODO}`]: async () => {},
  [`apps/${TODO}?tab=tools`]: async () => {},
  [`apps/${TODO}?tab=try`]: async () => {},
  [`apps/${TODO}?tab=versions`]: async () => {},
  settings: async () => {},
  'settings?tab=models': async () => {},
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
        const page = await open(browser, process.env.CONSOLE_URL ?? it.url, `/${name}`, { colorScheme, viewport });
        await page.getByRole('heading', { level: 1 }).first().waitFor();
        await page.waitForLoadState('networkidle').catch(() => {});
        await act(page).catch((error) => console.error(name, size, String(error).slice(0, 300)));
        const file = join(folder, `${name.replace(/[/?=]/g, '-')}-${size}-${colorScheme}.png`);
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
