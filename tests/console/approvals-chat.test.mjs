// Approvals in a conversation with a real server and a scripted model: asked in place, answered here or on another device.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calm, until } from './browser.mjs';
import { ask, fitsPhone, live, PHONE, platform, ready } from './kit.mjs';

const TODO = 'com.example.todo';
const TITLE = 'To-do list: Delete a todo';
const it = platform({}, (it) => live(it));

const call = (name, args) => it.api('POST', '/api/tools/execute', { name: `${TODO}:${name}`, arguments: args });
const todos = async () => (await call('get_todos', {})).content;

/** Adds a to-do, and gives its id: the list has each to-do after its id. */
async function addTodo(item) {
  await call('add_todo', { todo_item: item });
  const [, id] = new RegExp(`(\\d+)\\. ${item}`).exec(await todos());
  return id;
}

const card = (page, id) => page.getByRole('article', { name: TITLE }).filter({ has: page.getByRole('cell', { name: id, exact: true }) });

/** Has the model ask for the deletion, and waits until the page shows exactly what will be deleted. */
async function askInChat(page, id) {
  await ask(page, `delete my first to-do: call delete_todo with ${JSON.stringify({ todo_id: id })}`);
  await card(page, id)
    .getByRole('row', { name: `todo_id ${id}` })
    .waitFor();
  await card(page, id).getByText('This can delete or overwrite something.').waitFor();
}

/** What the model was told of its last call. */
const toldModel = () => JSON.stringify(it.model.asked.at(-1).messages.at(-1));

test('a deletion in a conversation runs after yes and not after no', async () => {
  const page = await it.page('/chat');
  const milk = await addTodo('buy milk');
  await askInChat(page, milk);
  assert.match(await todos(), /buy milk/, 'nothing runs before the answer');
  await card(page, milk)
    .getByRole('button', { name: `Approve ${TITLE}` })
    .click();
  await page
    .getByText(/^Done:/)
    .last()
    .waitFor();
  assert.doesNotMatch(await todos(), /buy milk/);
  await ready(page);

  const bread = await addTodo('buy bread');
  const before = it.model.asked.length;
  await askInChat(page, bread);
  await card(page, bread)
    .getByRole('button', { name: `Deny ${TITLE}` })
    .click();
  await until(() => it.model.asked.length > before + 1);
  assert.match(toldModel(), /declined/);
  await ready(page);
  assert.match(await todos(), /buy bread/);
  calm(page);
  await page.context().close();
});

test('a question on the desktop is answered on the phone, and the desktop continues', async () => {
  const desktop = await it.page('/chat');
  for (const [verb, item, told, left] of [
    ['Approve', 'water plants', /^(?!.*declined)/, false],
    ['Deny', 'feed the cat', /declined/, true],
  ]) {
    const id = await addTodo(item);
    const before = it.model.asked.length;
    await askInChat(desktop, id);
    const phone = await it.page('/approvals', PHONE);
    await card(phone, id)
      .getByRole('row', { name: `todo_id ${id}` })
      .waitFor();
    await fitsPhone(phone);
    await card(phone, id)
      .getByRole('button', { name: `${verb} ${TITLE}` })
      .click();
    // Nobody touches the desktop.
    await until(() => it.model.asked.length > before + 1);
    await ready(desktop);
    assert.match(toldModel(), told);
    assert.equal((await todos()).includes(item), left);
    calm(phone);
    await phone.context().close();
  }
  const list = await it.api('GET', '/api/approvals');
  const surfaces = list.approvals.slice(0, 2).map(({ answer }) => answer.surface);
  assert.deepEqual(surfaces, ['console', 'console'], 'the answers came from the page of approvals');
  calm(desktop);
  await desktop.context().close();
});
