// Approvals: what is asked, what runs after yes and not after no, what is remembered, and what the operator decides.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessible, becomes, calm, focused, isOn, settled, toasted, until } from './browser.mjs';
import { ask, fitsPhone, live, PHONE, platform, ready } from './kit.mjs';

const TODO = 'com.example.todo';
const DELETE = `${TODO}:delete_todo`;
const TITLE = 'To-do list: Delete a todo';
const it = platform({}, (it) => live(it));

const call = (name, args) => it.api('POST', '/api/tools/execute', { name: `${TODO}:${name}`, arguments: args });
const todos = async () => (await call('get_todos', {})).content;

/** Adds a to-do, and has its deletion asked about. */
async function askToDelete(item) {
  await call('add_todo', { todo_item: item });
  const id = await todoId(item);
  const { pending } = await call('delete_todo', { todo_id: id });
  return { id, approval: pending.id };
}

/** The list has each to-do after its id. */
async function todoId(item) {
  const [, id] = new RegExp(`(\\d+)\\. ${item}`).exec(await todos());
  return id;
}

const card = (page, { id }) =>
  page.getByRole('article', { name: TITLE }).filter({ has: page.getByRole('cell', { name: id, exact: true }) });
const answer = (asked, body) => it.api('POST', `/api/approvals/${asked.approval}`, body);

test('a deletion asks, shows exactly what will be deleted, and runs after yes but not after no', async () => {
  const page = await it.page('/approvals');
  await page.getByRole('heading', { name: 'Nothing to approve' }).waitFor();
  const [milk, bread] = [await askToDelete('buy milk'), await askToDelete('buy bread')];
  await toasted(page, `Approval needed: ${TITLE}`);
  await page.getByRole('link', { name: 'Approvals 2 waiting' }).waitFor();
  await card(page, milk)
    .getByRole('row', { name: `todo_id ${milk.id}` })
    .waitFor();
  await card(page, milk).getByText('This can delete or overwrite something.').waitFor();
  await card(page, milk).getByText('medium risk').waitFor();
  await card(page, milk).getByText('Requested over REST').waitFor();
  await accessible(page);
  assert.match(await todos(), /buy milk/, 'nothing runs before the answer');
  await card(page, milk)
    .getByRole('button', { name: `Approve ${TITLE}` })
    .click();
  await card(page, milk).getByText('Approved. The call has ended.').waitFor();
  await until(async () => !/buy milk/.test(await todos()));
  await focused(card(page, bread));
  await card(page, bread).getByText('Add a note to a denial').click();
  await card(page, bread).getByLabel('Note').fill('keep the bread');
  await card(page, bread)
    .getByRole('button', { name: `Deny ${TITLE}` })
    .click();
  await card(page, bread).getByText('Denied. The call did not run.').waitFor();
  const { state, answer: given } = await it.api('GET', `/api/approvals/${bread.approval}`);
  assert.deepEqual([state, given.surface, given.note], ['denied', 'console', 'keep the bread']);
  assert.match(await todos(), /buy bread/);
  await page.getByText('Nothing is waiting.').waitFor();
  await page.getByRole('button', { name: 'Clear answered' }).click();
  const history = page.getByRole('list', { name: 'Answered approvals' }).getByRole('listitem');
  await history.filter({ hasText: 'Denied by ada@example.com in the console' }).waitFor();
  await accessible(page);
  calm(page);
  await page.context().close();
});

test('an answer on another page updates this one, and a late answer says so', async () => {
  const asked = await askToDelete('water plants');
  const inbox = await it.page('/approvals');
  const late = await it.page('/approvals', { live: false });
  await Promise.all([inbox, late].map((page) => card(page, asked).waitFor()));
  const phone = await it.page(`/approvals/${asked.approval}`, PHONE);
  await phone.getByRole('row', { name: `todo_id ${asked.id}` }).waitFor();
  await fitsPhone(phone);
  await accessible(phone);
  await phone.getByRole('button', { name: `Deny ${TITLE}` }).click();
  await phone.getByText('Denied. The call did not run.').waitFor();
  await card(inbox, asked).getByText('Denied by ada@example.com in the console').waitFor();
  await card(inbox, asked)
    .getByRole('button', { name: `Approve ${TITLE}` })
    .waitFor({ state: 'detached' });
  await card(late, asked)
    .getByRole('button', { name: `Approve ${TITLE}` })
    .click();
  await card(late, asked).getByText('Already answered.').waitFor();
  assert.match(await todos(), /water plants/);
  await phone.getByRole('link', { name: 'All approvals' }).click();
  await phone.getByRole('heading', { name: 'Approvals', level: 1 }).waitFor();
  calm(inbox);
  calm(phone);
  calm(late, /409/);
  await Promise.all([inbox, late, phone].map((page) => page.context().close()));
});

test('the keyboard moves and answers, but not while the user types', async () => {
  const [one, two] = [await askToDelete('first item'), await askToDelete('second item')];
  const page = await it.page('/approvals');
  await card(page, two).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.press('a');
  await page.keyboard.press('Escape');
  await page.keyboard.press('j');
  await focused(card(page, one));
  await page.keyboard.press('j');
  await focused(card(page, two));
  await card(page, two).getByText('Add a note to a denial').click();
  await card(page, two).getByLabel('Note').fill('');
  await page.keyboard.type('add');
  await becomes(() => card(page, two).getByLabel('Note').inputValue(), 'add');
  assert.equal((await it.api('GET', `/api/approvals/${two.approval}`)).state, 'pending');
  await card(page, two).focus();
  await page.keyboard.press('k');
  await focused(card(page, one));
  // Right after the selection moved, answers are ignored.
  await until(async () => {
    await page.keyboard.press('d');
    return (await it.api('GET', `/api/approvals/${one.approval}`)).state === 'denied';
  });
  await card(page, one).getByText('Denied. The call did not run.').waitFor();
  await answer(two, { answer: 'deny' });
  await card(page, two).getByText('Denied by ada@example.com').waitFor();
  calm(page);
  await page.context().close();
});

test('a remembered yes covers later calls until it is revoked', async () => {
  const asked = await askToDelete('old thing');
  const page = await it.page('/approvals');
  await card(page, asked).getByLabel('If you approve, allow').selectOption({ label: 'This tool with any arguments' });
  await card(page, asked).getByLabel('For days').fill('7');
  await card(page, asked)
    .getByRole('button', { name: `Approve ${TITLE}` })
    .click();
  await card(page, asked).getByText('Approved. The call has ended.').waitFor();
  await call('add_todo', { todo_item: 'new thing' });
  const { pending } = await call('delete_todo', { todo_id: await todoId('new thing') });
  assert.equal(pending, undefined, 'it ran');
  await page.getByRole('tab', { name: 'Remembered' }).click();
  const grants = page.getByRole('list', { name: 'Remembered approvals and grants' });
  await grants.getByText(/Allows every call\. .* ends in (6|7) days/).waitFor();
  await accessible(page);
  await grants.getByRole('button', { name: `Revoke ${DELETE}` }).click();
  await page.getByRole('heading', { name: 'Nothing remembered' }).waitFor();
  await answer(await askToDelete('last thing'), { answer: 'deny' });
  calm(page);
  await page.context().close();
});

test('a choice for a tool is saved after a look at what it would have done', async () => {
  const page = await it.page('/tools');
  const group = page.getByRole('region', { name: 'To-do list' });
  await group.getByText('Add a todo', { exact: true }).click();
  const select = group.getByLabel('Runs: Add a todo');
  await select.selectOption('ask');
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/Would have asked about \d+ of (your last|the last) \d+ calls/).waitFor();
  await accessible(page);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await becomes(() => select.inputValue(), 'default');
  await select.selectOption('never');
  await dialog.getByText(/Would have refused \d+ of/).waitFor();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await group.getByText('never runs').waitFor();
  await assert.rejects(call('add_todo', { todo_item: 'refused' }));
  await select.selectOption('always');
  await isOn(dialog.getByLabel('Ask again when the definition changes'), true);
  await dialog.getByLabel('Ask again after days').fill('30');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await group.getByText(/Holds until .*, or until its definition changes/).waitFor();
  await select.selectOption('default');
  await group.getByText('runs without asking').waitFor({ state: 'detached' });
  assert.deepEqual((await it.api('GET', '/api/approvals/choices')).choices, []);
  calm(page);
  await page.context().close();
});

test('an operator previews and saves the policy, and invalid rules are shown', async () => {
  const page = await it.page('/settings?tab=approvals');
  const text = page.getByLabel('Policy as JSON');
  await text.fill('{ "preset": ');
  await page.getByText(/^Line 1: /).waitFor();
  await text.fill('{ "preset": "default", "rules": [{ "tools": ["everything"], "decision": "ask" }] }');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('`everything` is not a pattern').waitFor();
  await text.fill(`{ "preset": "default", "rules": [{ "tools": ["${TODO}:get_*"], "decision": "deny" }] }`);
  await page.getByRole('button', { name: 'Preview changed rules' }).click();
  await page.getByText(/Rule 1:.*Would have refused \d+ of the last \d+ calls of all users/).waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await toasted(page, 'The policy was saved.');
  await page.getByText('set here').waitFor();
  await assert.rejects(call('get_todos', {}));
  await settled(page);
  await accessible(page);
  await page.getByRole('button', { name: 'Use the configuration file' }).click();
  await page.getByRole('button', { name: 'Discard this policy' }).click();
  await page.getByText('from the configuration file').waitFor();
  await call('get_todos', {});
  calm(page, /400/);
  await page.context().close();
});

/** The server's side of a conversation that asks, in place of a model. */
const stream = (...chunks) => ({
  contentType: 'text/event-stream',
  headers: { 'x-vercel-ai-ui-message-stream': 'v1' },
  body: [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`).join(''),
});

test('a conversation asks in place, and continues after the answer', async () => {
  const asked = await askToDelete('chat thing');
  const page = await it.page('/chat');
  const sent = [];
  await page.route('**/api/chat', (route) => {
    sent.push(route.request());
    if (sent.length > 1)
      return route.fulfill(
        stream(
          { type: 'start' },
          { type: 'tool-output-available', toolCallId: 'c1', output: { deleted: true }, providerExecuted: true },
          { type: 'text-start', id: 't' },
          { type: 'text-delta', id: 't', delta: 'It is deleted.' },
          { type: 'text-end', id: 't' },
          { type: 'finish', finishReason: 'stop' },
        ),
      );
    return route.fulfill(
      stream(
        { type: 'start', messageId: 'm1' },
        {
          type: 'tool-input-available',
          toolCallId: 'c1',
          toolName: 'delete_todo',
          input: { todo_id: asked.id },
          providerExecuted: true,
          dynamic: true,
        },
        { type: 'data-approval', id: asked.approval, data: { toolCallId: 'c1' } },
        { type: 'tool-approval-request', approvalId: asked.approval, toolCallId: 'c1' },
        { type: 'finish', finishReason: 'tool-calls' },
      ),
    );
  });
  await ask(page, 'delete my first to-do');
  await card(page, asked)
    .getByRole('row', { name: `todo_id ${asked.id}` })
    .waitFor();
  await ready(page);
  await accessible(page);
  assert.equal(sent[0].headers()['x-toolyard-approvals'], '1');
  await card(page, asked)
    .getByRole('button', { name: `Approve ${TITLE}` })
    .click();
  await page.getByText('It is deleted.').waitFor();
  const part = sent[1]
    .postDataJSON()
    .messages.at(-1)
    .parts.find(({ toolCallId }) => toolCallId === 'c1');
  assert.deepEqual([part.state, part.approval.approved], ['approval-responded', true]);
  const { answer: given } = await it.api('GET', `/api/approvals/${asked.approval}`);
  assert.deepEqual([given.answer, given.surface], ['approve', 'chat']);
  await until(async () => !/chat thing/.test(await todos()));
  calm(page);
  await page.context().close();
});
