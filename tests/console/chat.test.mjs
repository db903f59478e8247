// Conversations: the model's words, tools of apps and of the page, what survives a reload, and what a hostile answer cannot do.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, test } from 'node:test';
import { accessible, becomes, calm, flip, focused, launch, open, until } from './browser.mjs';
import { ask, fitsPhone, gate, ready } from './kit.mjs';
import { stage } from './stage.mjs';

let it, browser, url;
before(async () => {
  it = await stage(process.env.CONSOLE_PORT ? { port: Number(process.env.CONSOLE_PORT) } : {});
  url = process.env.CONSOLE_URL ?? it.url;
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await it?.close();
});

// Every page listens to the server, which has a limit for the streams of a user.
afterEach(() => Promise.all(browser.contexts().map((context) => context.close())));

const box = (page) => page.getByRole('textbox', { name: 'Message' });

test('a call of an app tool shows app, arguments, result and duration', async () => {
  const page = await open(browser, url, '/chat');
  await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
  await accessible(page);
  await ask(page, 'remind me to buy milk');
  await page.getByText(/^Done:/).waitFor();
  const row = page.getByRole('group').filter({ hasText: 'To-do list' });
  await row.getByText('To-do list').click();
  await row.getByLabel('Arguments', { exact: true }).getByText('buy milk').waitFor();
  await row.getByLabel('Result', { exact: true }).getByText('buy milk').waitFor();
  await row.getByText(/^\d+(\.\d)?\sm?s$/).waitFor();
  await accessible(page);
  calm(page);
});

test('the page provides tools, and the user chooses which are offered', async () => {
  const page = await open(browser, url, '/chat');
  await ask(page, 'call get_page_info');
  await page.getByText(/Done:.*Toolyard/).waitFor();
  const offered = it.model.asked.at(-1).tools.map((tool) => tool.function.name);
  for (const name of ['get_page_info', 'open_page', 'show_chart', 'celebrate']) assert.ok(offered.includes(name), name);
  assert.ok(!offered.includes('get_selection'), 'what is selected is told by those only who want it');
  assert.ok(
    offered.some((name) => name.endsWith('add_todo')),
    'those of apps as well',
  );
  calm(page);
});

test('markdown is rendered without loading resources or running scripts', async () => {
  const page = await open(browser, url, '/chat');
  await ask(page, 'hostile markdown');
  await page.getByRole('heading', { name: 'A title' }).waitFor();
  await page.getByRole('cell', { name: '1' }).waitFor();
  await page.getByText('Image not loaded: spy').waitFor();
  await page.locator('a[target=_blank][rel~=noopener]').filter({ hasText: 'read more' }).waitFor();
  await page.getByText('evil.example', { exact: true }).first().waitFor();
  assert.equal(await page.locator('.words img, .words script, .words iframe').count(), 0);
  assert.equal(await page.getByRole('link', { name: 'run me' }).count(), 0);
  await accessible(page);
  calm(page);
});

test('a response can be stopped and retried, and the message edited', async () => {
  const page = await open(browser, url, '/chat');
  await ask(page, 'count slowly');
  await page.getByText(/word3\b/).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await ready(page);
  const said = await page.getByRole('article', { name: 'Assistant' }).innerText();
  assert.match(said, /word3/);
  assert.doesNotMatch(said, /word39/);
  await page.reload();
  await page.getByText(/word3\b/).waitFor();
  assert.doesNotMatch(await page.getByRole('article', { name: 'Assistant' }).innerText(), /word39/, 'it does not go on by itself');
  const asked = it.model.asked.length;
  await page.getByRole('button', { name: 'Retry' }).click();
  await until(() => it.model.asked.length > asked);
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  await page.getByText(/word3\b/).waitFor();
  it.model.resume();
  await page.getByText(/word39/).waitFor();
  await ready(page);
  await becomes(() => page.getByRole('article', { name: 'Assistant' }).count(), 1);
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Edit the message').fill('something else');
  await accessible(page);
  await page.getByRole('article').or(page.locator('form')).getByRole('button', { name: 'Send' }).first().click();
  await page.getByText('You said: something else').waitFor();
  await becomes(() => page.getByRole('article').count(), 2);
  calm(page);
});

test('a reload during a response loses nothing', async () => {
  const page = await open(browser, url, '/chat');
  await ask(page, 'count slowly');
  await page.getByText(/word5\b/).waitFor();
  const asked = it.model.asked.length;
  await page.reload();
  await page.getByText(/word5\b/).waitFor();
  it.model.resume();
  await page.getByText(/word39/).waitFor();
  await ready(page);
  assert.equal(it.model.asked.length, asked, 'the model was not asked again');
  await becomes(
    async () => (await page.getByRole('article', { name: 'Assistant' }).allInnerTexts()).map((said) => said.match(/word7\b/g)?.length),
    [1],
    'nothing twice',
  );
  await page.reload();
  await page.getByText(/word39/).waitFor();
  calm(page);
});

test('a response continues while another page is open, and the model can open a page', async () => {
  const page = await open(browser, url, '/chat');
  await ask(page, 'open the plugins page');
  await page.getByRole('heading', { name: 'Plugins', exact: true }).waitFor();
  await page.goBack();
  await page.getByText(/Done:.*Plugins/).waitFor();
  await ask(page, 'open the nowhere page');
  await page.getByText(/Done:.*(enum|one of|no page|do not fit)/).waitFor();
  calm(page);
});

test('on other pages and in dialogs the model reads no page content and cannot navigate', async () => {
  const page = await open(browser, url, '/plugins');
  await flip(page.getByRole('switch', { name: 'Selected text', exact: true }), true);
  const pages = page.getByRole('navigation', { name: 'Pages' });
  await pages.getByRole('link', { name: 'Chat' }).click();
  await ask(page, 'call get_selection');
  await page.getByText(/^Done:/).waitFor();
  // The call is held back until the user is elsewhere, and nobody goes before it was made.
  const held = async (text, leave) => {
    const call = gate();
    await page.context().route('**/api/chat', call.hold, { times: 1 });
    await ask(page, text);
    await call.reached;
    await leave();
    call.open();
  };
  const answers = () => page.getByText(/^Done:/);
  const toApps = async () => {
    await pages.getByRole('link', { name: 'Tools' }).click();
    await page.getByRole('heading', { name: 'Tools', exact: true }).waitFor();
  };
  const back = async (count) => {
    await page.waitForFunction(() => JSON.parse(localStorage.getItem('toolyard.chats/ada@example.com'))[0].open === false);
    assert.match(page.url(), /console\/tools/);
    await page.goBack();
    await answers()
      .nth(count - 1)
      .waitFor();
  };
  await held('call get_selection', toApps);
  await back(2);
  await page.getByText(/Done:.*another page of the console/).waitFor();
  await held('open the plugins page', toApps);
  await back(3);
  await page.getByText(/Done:.*is on another page now/).waitFor();
  await held('call get_page_info', async () => {
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('dialog').waitFor();
  });
  await page.getByText(/Done:.*a dialog is open/).waitFor();
  calm(page);
});

test('a conversation deleted during a response does not come back', async () => {
  const page = await open(browser, url, '/chat');
  await ask(page, 'count slowly');
  await page.getByText(/word3\b/).waitFor();
  const told = page.waitForRequest((request) => request.method() === 'DELETE' && request.url().endsWith('/stream'));
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await told;
  await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
  // Another one is written down after it, with all that would have been.
  await ask(page, 'something else');
  await page.getByText('You said: something else').waitFor();
  await ready(page);
  const list = page.getByRole('navigation', { name: 'Conversations' });
  await list.getByRole('link', { name: /something else/ }).waitFor();
  assert.equal(await list.getByRole('link', { name: /count slowly/ }).count(), 0);
  await becomes(() => page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('toolyard.chat/')).length), 1);
  calm(page);
});

test('with the keyboard: focus is never lost, and only the last response can be retried', async () => {
  const page = await open(browser, url, '/chat');
  await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
  await focused(box(page));
  await page.keyboard.type('one');
  await page.keyboard.press('Enter');
  await page.getByText('You said: one').waitFor();
  await ready(page);
  await focused(box(page));
  await becomes(() => box(page).inputValue(), '');
  await page.keyboard.type('two');
  await page.getByRole('button', { name: 'Send' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('You said: two').waitFor();
  await ready(page);
  await focused(box(page));
  await becomes(() => page.getByRole('button', { name: 'Retry' }).count(), 1);
  const asked = it.model.asked.length;
  await page.getByRole('button', { name: 'Retry' }).focus();
  await page.keyboard.press('Enter');
  await until(() => it.model.asked.length > asked);
  await focused(box(page));
  await ready(page);
  await becomes(() => page.getByRole('article').count(), 4);
  const edit = page.getByRole('button', { name: 'Edit' }).last();
  await edit.focus();
  await page.keyboard.press('Enter');
  await focused(page.getByLabel('Edit the message'));
  await page.getByRole('button', { name: 'Cancel' }).focus();
  await page.keyboard.press('Enter');
  await focused(edit);
  await page.keyboard.press('Enter');
  await page.getByLabel('Edit the message').fill('three');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('You said: three').waitFor();
  await focused(box(page));
  await ready(page);
  await page.keyboard.type('count slowly');
  await page.keyboard.press('Enter');
  await page.getByText(/word3\b/).waitFor();
  await page.getByRole('button', { name: 'Stop' }).focus();
  await page.keyboard.press('Enter');
  await ready(page);
  await focused(box(page));
  calm(page);
});

test('over plain HTTP, chat works and the plugins page says why plugins cannot run', async () => {
  const page = await open(browser, url, '/chat');
  // As browsers have it on pages that are not secure.
  await page.context().addInitScript(() => {
    Object.defineProperty(window, 'isSecureContext', { value: false });
    delete Crypto.prototype.randomUUID;
    delete Crypto.prototype.subtle;
  });
  await page.reload();
  await ask(page, 'call get_page_info');
  await page.getByText(/Done:.*Toolyard/).waitFor();
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Plugins' }).click();
  await page.getByText(/only over HTTPS or on localhost/).waitFor();
  await page.getByRole('heading', { name: 'No plugins yet' }).waitFor();
  await accessible(page);
  calm(page);
});

test('a tool shows a chart, and another one confetti', async () => {
  const page = await open(browser, url, '/chat');
  await ask(page, 'a chart please');
  await page.getByRole('img', { name: 'Apples' }).waitFor();
  await ready(page);
  await accessible(page);
  await ask(page, 'celebrate');
  await page.getByText('Congratulations!').waitFor();
  assert.equal(await page.locator('.confetti span').filter({ visible: true }).count(), 0, 'no motion where none is wanted');
  await page.getByText('Congratulations!').waitFor({ state: 'detached' });
  calm(page);
  const moving = await open(browser, url, '/chat', { reducedMotion: 'no-preference' });
  await ask(moving, 'celebrate');
  await moving.locator('.confetti span').first().waitFor();
  calm(moving);
});

test('conversations are listed, renamed, exported and deleted, separately for each user', async () => {
  const page = await open(browser, url, '/chat');
  await ask(page, 'first question');
  await page.getByText('You said: first question').waitFor();
  await ready(page);
  await page.getByRole('link', { name: 'New conversation' }).click();
  await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
  await ask(page, 'second question');
  await page.getByText('You said: second question').waitFor();
  await ready(page);
  const list = page.getByRole('navigation', { name: 'Conversations' });
  await list.getByRole('link', { name: /first question/ }).click();
  await page.getByText('You said: first question').waitFor();
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByLabel('Name of the conversation').fill('About firsts');
  await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
  await list.getByRole('link', { name: /About firsts/ }).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export as JSON' }).click()]);
  const exported = JSON.parse(await readFile(await download.path(), 'utf8'));
  assert.equal(exported.title, 'About firsts');
  assert.deepEqual(
    exported.messages.map(({ role }) => role),
    ['user', 'assistant'],
  );
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'What can I do for you?' }).waitFor();
  assert.equal(await list.getByRole('link', { name: /About firsts/ }).count(), 0);
  await list.getByRole('link', { name: /second question/ }).waitFor();
  await page.evaluate(() => localStorage.setItem('toolyard.session', JSON.stringify({ kind: 'dev', user: 'bob@example.com' })));
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('toolyard.chats/'))), [
    'toolyard.chats/ada@example.com',
  ]);
  calm(page);
});

test('the model can be chosen, and errors are shown as text', async () => {
  const page = await open(browser, url, '/chat');
  await page.getByLabel('Model').selectOption('scripted/brain');
  await ask(page, 'with a model');
  await page.getByText('You said: with a model').waitFor();
  await ready(page);
  const refuse = (status, body, headers = {}) =>
    page
      .context()
      .route('**/api/chat', (route) =>
        route.fulfill({ status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }),
      );
  await refuse(429, { error: { code: 'RATE_LIMITED', message: 'too many' } }, { 'retry-after': '30' });
  await ask(page, 'too often');
  await page.getByRole('alert').getByText('Too many requests. Try again in 30 s.').waitFor();
  await accessible(page);
  await page.context().unroute('**/api/chat');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('You said: too often').waitFor();
  await page.context().route('**/api/chat', (route) => route.abort());
  await ask(page, 'nobody there');
  await page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
  calm(page, /429|ERR_FAILED|Failed to load/);
});

test('without a model the page explains how to configure one', async () => {
  const page = await open(browser, url, '/chat');
  await page.context().route('**/api/models', (route) => route.fulfill({ json: { default: null, models: [], missing: [] } }));
  await page.reload();
  await page.getByText('No model is available.').waitFor();
  await page.getByText(/OPENAI_API_KEY/).waitFor();
  await accessible(page);
  calm(page);
});

test('on a phone the list opens over the page and nothing overflows', async () => {
  const page = await open(browser, url, '/chat', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
  await ask(page, 'hostile markdown');
  await page.getByRole('heading', { name: 'A title' }).waitFor();
  await ready(page);
  await fitsPhone(page);
  await page.getByRole('button', { name: 'Conversations' }).click();
  await page
    .getByRole('dialog')
    .getByRole('link', { name: /hostile markdown/ })
    .click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await accessible(page);
  calm(page);
});
