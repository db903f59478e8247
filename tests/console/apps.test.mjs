// Apps: register one, define its tools and call them; details, keys, and deleting.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, becomes, calm, disabled, flip, launch, open, settled, toasted, until } from './browser.mjs';
import { at, consoleOf, fitsPhone, live, PHONE, smallApp } from './kit.mjs';
import { stage, USER } from './stage.mjs';

const TODO = 'com.example.todo';
let it;
let browser;
let app;

const visit = (path, more) => open(browser, consoleOf(it), path, more);

before(async () => {
  [it, browser, app] = await Promise.all([stage(at), launch(), smallApp()]);
  await live(it);
});
after(async () => {
  await browser?.close();
  app?.close();
  await it?.close();
});

test('an app is registered, its key is shown once, tools are defined in the editor and called', async () => {
  const page = await visit('/apps');
  await page.getByRole('button', { name: 'New app' }).click();
  const form = page.getByRole('dialog', { name: 'New app' });
  await form.getByRole('button', { name: 'Create app' }).click();
  await form.getByText('Enter a name.').waitFor();
  await form.getByLabel('Package').fill('com.example.echo');
  await form.getByLabel('Name', { exact: true }).fill('Echo');
  await form.getByLabel('Description').fill('Says it again');
  await form.getByLabel('URL').fill(app.url);
  await becomes(() => form.getByLabel('Kind').inputValue(), 'tools-only', 'as long as nobody says otherwise');
  await form.getByText('Permissions').click();
  await flip(form.getByRole('checkbox', { name: /^Calendar/ }), true);
  await form.getByLabel('Reason for Calendar').fill('To see the day');
  await accessible(page);
  await form.getByRole('button', { name: 'Create app' }).click();

  const secrets = page.getByRole('dialog', { name: 'Key and secret of Echo' });
  await secrets.getByText('They are shown only once.').waitFor();
  const key = await secrets.getByLabel('API key', { exact: true }).inputValue();
  const secret = await secrets.getByLabel('Signing secret', { exact: true }).inputValue();
  assert.ok(key.length > 20 && secret.length > 20 && key !== secret);
  await accessible(page);
  await secrets.getByRole('button', { name: 'I have copied both' }).click();
  await page.getByRole('heading', { name: 'Echo', level: 1 }).waitFor();
  await secrets.waitFor({ state: 'detached' });
  assert.ok(!(await page.content()).includes(key), 'the key is nowhere in the page after it was shown');
  const answer = await fetch(`${it.url}/api/apps/com.example.echo`, { headers: { Authorization: `Bearer com.example.echo:${key}` } });
  assert.equal(answer.status, 200, 'the key that was shown works');

  await page.getByRole('button', { name: 'Add a tool' }).click();
  await page.getByText('Each tool needs an id.').waitFor();
  await page.getByLabel('Id', { exact: true }).fill('say');
  await page.getByLabel('Title').fill('Say it');
  await page.getByLabel('Description').first().fill('Says a text again');
  await page.getByRole('button', { name: 'Add a phrase' }).click();
  await page.getByLabel('Phrase 1', { exact: true }).fill('say after me');
  await flip(page.getByRole('checkbox', { name: 'By language' }), true);
  await page.getByLabel('Language of phrase 1').fill('en');
  await page.getByLabel('Category').selectOption('utility');
  await page.getByLabel('Read-only').selectOption('yes');
  await page.getByRole('button', { name: 'Add a parameter' }).click();
  const first = page.getByRole('group', { name: 'Parameter' });
  await first.getByLabel('Name').fill('words');
  await flip(first.getByRole('checkbox', { name: 'Required' }), true);
  await page.getByRole('button', { name: 'Add a parameter' }).click();
  const second = page.getByRole('group', { name: 'Parameter without a name' });
  await second.getByLabel('Type').selectOption('integer');
  await second.getByLabel('Only these values').fill('1\n2');
  await second.getByLabel('Name').fill('times');
  await page.getByText('com_example_echo__say').first().waitFor();
  await accessible(page);
  await page.getByRole('button', { name: 'Save as a new version' }).click();
  await toasted(page, 'Saved. Version 1 is in use now.');
  const saved = await it.api('GET', '/api/apps/com.example.echo/tools');
  assert.deepEqual(saved.tools, [
    {
      name: 'say',
      description: 'Says a text again',
      inputSchema: {
        type: 'object',
        properties: { words: { type: 'string' }, times: { type: 'integer', enum: [1, 2] } },
        required: ['words'],
      },
      title: 'Say it',
      annotations: { readOnlyHint: true },
      mentraExtensions: { activationPhrases: { en: ['say after me'] }, category: 'utility' },
    },
  ]);

  await page.getByRole('tab', { name: 'Try it' }).click();
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('This field is required.').waitFor();
  await page.getByLabel('words').fill('hello');
  await page.getByLabel('times').selectOption({ label: '2' });
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('TOOL_NOT_FOUND').waitFor();
  await page.getByRole('button', { name: `Install Echo for ${USER} and run it again` }).click();
  await page.getByText('OK', { exact: true }).waitFor();
  await becomes(async () => JSON.parse(await page.getByLabel('result', { exact: true }).textContent()), {
    echoed: { words: 'hello', times: 2 },
  });
  assert.equal(app.asked.at(-1).name, 'say');
  await page.getByRole('rowheader', { name: 'Run the tool' }).waitFor();
  await page.getByText('called directly').waitFor();
  calm(page);
  await page.context().close();
});

test('details are edited, a key is regenerated, and an app is deleted by typing its package', async () => {
  await it.api('POST', '/api/apps', {
    packageName: 'com.example.gone',
    name: 'Going',
    settings: [{ key: 'k' }],
    iconUrl: 'https://example.com/i.png',
  });
  const page = await visit('/apps/com.example.gone');
  await page.getByLabel('Name', { exact: true }).fill('Going soon');
  await page.getByLabel('URL').fill('ftp://nowhere');
  await page.getByText('Hardware').click();
  await page.getByLabel('Camera', { exact: true }).selectOption('REQUIRED');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('alert').first().waitFor();
  await page.getByLabel('URL').fill('http://127.0.0.1:9');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await toasted(page, 'Saved.');
  const saved = await it.api('GET', '/api/apps/com.example.gone');
  assert.deepEqual(
    [saved.name, saved.hardwareRequirements, saved.settings, saved.iconUrl],
    ['Going soon', [{ type: 'CAMERA', level: 'REQUIRED' }], [{ key: 'k' }], 'https://example.com/i.png'],
  );
  await accessible(page);
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Create a new key' }).click();
  const shown = page.getByRole('dialog', { name: 'The new key' });
  await until(async () => (await shown.getByLabel('API key', { exact: true }).inputValue()).length > 20);
  await shown.getByRole('button', { name: 'I have copied it' }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const remove = page.getByRole('button', { name: 'Delete permanently' });
  await disabled(remove);
  await page.getByLabel('Type com.example.gone to delete it').fill('com.example.gone');
  await remove.click();
  await toasted(page, 'Going soon was deleted.');
  await page.getByRole('heading', { name: 'Apps', level: 1 }).waitFor();
  await assert.rejects(it.api('GET', '/api/apps/com.example.gone'), /404/);
  await accessible(page);
  calm(page, /400/);
  await page.context().close();
});

test('on a phone nothing overflows', async () => {
  for (const path of ['/apps', `/apps/${TODO}`]) {
    const page = await visit(path, PHONE);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settled(page);
    await fitsPhone(page);
    await accessible(page);
    await page.context().close();
  }
});
