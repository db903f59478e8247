// The editor of tools and their versions: what is wrong is shown where, nothing is lost, import, comparing.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessible, becomes, calm, disabled, flip, launch, open, settled, toasted } from './browser.mjs';
import { at, consoleOf, fitsPhone, live, PHONE } from './kit.mjs';
import { stage } from './stage.mjs';

const TODO = 'com.example.todo';
let it;
let browser;

const visit = (path, more) => open(browser, consoleOf(it), path, more);

before(async () => {
  [it, browser] = await Promise.all([stage(at), launch()]);
  await live(it);
});
after(async () => {
  await browser?.close();
  await it?.close();
});

test('an invalid schema shows the line of JSON errors and of server errors', async () => {
  const page = await visit(`/apps/${TODO}?tab=tools`);
  await page.getByRole('button', { name: 'JSON Schema' }).click();
  const text = page.getByLabel('JSON Schema of the arguments');
  await text.fill('{\n  "type": "object",\n  "properties": {\n    "x": { "type": "strin", }\n  }\n}');
  await page.getByText('Line 4, column 27: a trailing comma.').waitFor();
  await becomes(() => page.locator('.code-area-lines .wrong').textContent(), '4');
  await disabled(page.getByRole('button', { name: 'Save as a new version' }));
  await text.fill('{\n  "type": "object",\n  "properties": {\n    "x": {\n      "type": "strin"\n    }\n  }\n}');
  await page.getByText(/^Line 5: properties\.x\.type: not a JSON Schema/).waitFor();
  await becomes(() => page.locator('.code-area-lines .wrong').textContent(), '5');
  await disabled(page.getByRole('button', { name: 'Save as a new version' }));
  await accessible(page);
  await text.fill('{ "type": "object", "properties": { "x": { "oneOf": [{ "type": "string" }, { "type": "number" }] } } }');
  await page.getByText('The form cannot show this schema: "x" uses "oneOf".').waitFor();
  await disabled(page.getByRole('button', { name: 'Form', exact: true }));
  await text.fill('{ "type": "object", "properties": { "x": { "type": "string", "minLength": 2 } } }');
  await page.getByRole('button', { name: 'Form', exact: true }).click();
  await page.getByText('Also: minLength 2').waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByText('Version 1 is in use').waitFor();
  await page.getByRole('button', { name: 'Add a tool' }).click();
  await page.getByText('Fix the errors above to see the preview.').waitFor();
  await page.getByRole('button', { name: 'delete_todo' }).click();
  await page.getByText('com_example_todo__delete_todo').first().waitFor();
  calm(page);
  await page.context().close();
});

test('nested parameters and lists of objects are added, moved and saved', async () => {
  await it.api('POST', '/api/apps', {
    packageName: 'com.example.nested',
    name: 'Nested',
    tools: [
      {
        name: 'order',
        inputSchema: {
          type: 'object',
          properties: {
            note: { type: 'string' },
            lines: { type: 'array', items: { type: 'object', properties: { count: { type: 'integer' } } } },
          },
        },
      },
    ],
  });
  const page = await visit('/apps/com.example.nested?tab=tools');
  const lines = page.getByRole('group', { name: 'Parameter lines' });
  await lines.getByRole('button', { name: 'Add a member to lines' }).click();
  const fresh = lines.getByRole('group', { name: 'Member of lines: without a name' });
  await lines.getByText('Each parameter needs a name.').waitFor();
  await disabled(page.getByRole('button', { name: 'Save as a new version' }));
  await fresh.getByLabel('Type').selectOption('object');
  await fresh.getByLabel('Name').fill('size');
  const size = lines.getByRole('group', { name: 'Member of lines: size' });
  await size.getByRole('button', { name: 'Add a member to size' }).click();
  await size.getByRole('group', { name: 'Member of size: without a name' }).getByLabel('Name').fill('unit');
  const unit = size.getByRole('group', { name: 'Member of size: unit' });
  await unit.getByLabel('Only these values').fill('cm\nin');
  await unit.getByLabel('Default').fill('m');
  await unit.getByText('"m" is not among the values.').waitFor();
  await accessible(page);
  await unit.getByLabel('Default').fill('cm');
  await flip(unit.getByRole('checkbox', { name: 'Required' }), true);
  await page.getByRole('button', { name: 'Move parameter lines up' }).click();
  await page.getByRole('button', { name: 'Save as a new version' }).click();
  await toasted(page, 'Saved. Version 2 is in use now.');
  const { tools } = await it.api('GET', '/api/apps/com.example.nested/tools');
  const unitSchema = { type: 'string', enum: ['cm', 'in'], default: 'cm' };
  const size2 = { type: 'object', properties: { unit: unitSchema }, required: ['unit'] };
  assert.deepEqual(tools[0].inputSchema.properties.lines, {
    type: 'array',
    items: { type: 'object', properties: { count: { type: 'integer' }, size: size2 } },
  });
  assert.deepEqual(Object.keys(tools[0].inputSchema.properties), ['lines', 'note'], 'in the order of the form');
  calm(page);
  await page.context().close();
});

test('unsaved changes are not lost by accident', async () => {
  const page = await visit(`/apps/${TODO}?tab=tools`);
  await page.getByLabel('Title').fill('Another title');
  await page.getByRole('tab', { name: 'Versions' }).click();
  const ask = page.getByRole('dialog', { name: 'Leave without saving?' });
  await ask.getByRole('button', { name: 'Cancel' }).click();
  await becomes(() => page.getByLabel('Title').inputValue(), 'Another title');
  await page.getByRole('link', { name: 'Library' }).click();
  await ask.getByRole('button', { name: 'Leave and discard changes' }).click();
  await page.getByRole('heading', { name: 'Library', level: 1 }).waitFor();
  calm(page);
  await page.context().close();
});

test('a tpa_config.json is imported, and versions are compared and switched', async () => {
  const before = await it.api('GET', `/api/apps/${TODO}/tools`);
  const page = await visit(`/apps/${TODO}?tab=tools`);
  await page.getByRole('button', { name: 'Import' }).click();
  const dialog = page.getByRole('dialog', { name: 'Import tools' });
  await dialog.getByLabel('Or paste it').fill('{ "tools": [{ "id": "get_todos" }] }');
  await dialog.getByText('tools[0].description').waitFor();
  const config = {
    name: 'To-do',
    settings: [],
    tools: [
      {
        id: 'get_todos',
        description: 'Lists everything that is still to do',
        activationPhrases: ['what is left'],
        parameters: { include_completed: { type: 'boolean', description: 'Also what is done' } },
      },
      { id: 'clear_all', description: 'Deletes all', parameters: { really: { type: 'string', enum: ['yes', 'no'], required: true } } },
    ],
  };
  await dialog
    .getByLabel('File')
    .setInputFiles({ name: 'tpa_config.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(config)) });
  await dialog.getByText('This is a tpa_config.json with 2 tools: get_todos and clear_all.').waitFor();
  await dialog.getByText('Already exist: get_todos.').waitFor();
  await dialog.getByText('Not imported: name and settings.').waitFor();
  await accessible(page);
  await dialog.getByRole('button', { name: 'Import 2 tools' }).click();
  await page.getByRole('navigation', { name: 'Tools of this app' }).getByRole('button', { name: 'delete_todo' }).click();
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByRole('button', { name: 'Save as a new version' }).click();
  await toasted(page, 'Saved. Version 2 is in use now.');
  const after = await it.api('GET', `/api/apps/${TODO}/tools`);
  assert.deepEqual([after.prompts, after.resources], [before.prompts, before.resources], 'prompts and resources are kept');
  assert.deepEqual(after.tools.map(({ name }) => name).sort(), [
    'add_todo',
    'clear_all',
    'get_todos',
    'mark_todo_complete',
    'mark_todo_incomplete',
  ]);
  assert.deepEqual(
    after.tools.find(({ name }) => name === 'add_todo'),
    before.tools.find(({ name }) => name === 'add_todo'),
  );

  await page.getByRole('tab', { name: 'Try it' }).click();
  await page.getByLabel('Tool').selectOption('get_todos');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('OK', { exact: true }).waitFor();

  await page.getByRole('tab', { name: 'Versions' }).click();
  await page.getByText('1 added, 1 removed, 1 changed').waitFor();
  await page.getByRole('group', { name: 'Description before' }).getByText('Get all to-do items with their IDs').waitFor();
  await page.getByRole('group', { name: 'Description after' }).getByText('Lists everything that is still to do').waitFor();
  await page.getByRole('group', { name: 'Activation phrases after' }).getByText('what is left').waitFor();
  await accessible(page);
  await page.getByRole('button', { name: 'Use version 1' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Use version 1' }).click();
  await toasted(page, 'Version 1 is in use now.');
  assert.deepEqual((await it.api('GET', `/api/apps/${TODO}/tools`)).tools, before.tools);
  calm(page);
  await page.context().close();
});

test('a version that another user saved meanwhile is not overwritten without confirmation', async () => {
  await it.api('POST', '/api/apps', {
    packageName: 'com.example.two',
    name: 'Two',
    tools: [{ name: 'a', inputSchema: { type: 'object' } }],
  });
  const page = await visit('/apps/com.example.two?tab=tools');
  await page.getByLabel('Title').fill('Mine');
  await it.api('POST', '/api/apps/com.example.two/tools', { tools: [{ name: 'b', inputSchema: { type: 'object' } }] });
  await page.getByRole('button', { name: 'Save as a new version' }).click();
  const ask = page.getByRole('dialog', { name: 'Another version was saved' });
  await ask.getByText('You started from version 1; version 2 is in use now.').waitFor();
  assert.equal((await it.api('GET', '/api/apps/com.example.two/tools')).version, 2);
  await ask.getByRole('button', { name: 'Overwrite' }).click();
  await toasted(page, 'Saved. Version 3 is in use now.');
  calm(page);
  await page.context().close();
});

test('on a phone nothing overflows', async () => {
  for (const path of [`/apps/${TODO}?tab=tools`, `/apps/${TODO}?tab=versions`]) {
    const page = await visit(path, PHONE);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await settled(page);
    await fitsPhone(page);
    await accessible(page);
    await page.context().close();
  }
});
