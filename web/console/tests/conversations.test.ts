import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { ToolyardMessage } from '@toolyard/client';

/** As much of a browser as is needed, with room for so many characters. */
const kept = new Map<string, string>();
let room = Number.POSITIVE_INFINITY;
const localStorage = {
  getItem: (key: string) => kept.get(key) ?? null,
  removeItem: (key: string) => void kept.delete(key),
  setItem(key: string, value: string) {
    const others = [...kept].filter(([name]) => name !== key).reduce((sum, [, text]) => sum + text.length, 0);
    if (others + value.length > room) throw new Error('full');
    kept.set(key, value);
  },
};
Object.assign(globalThis, { localStorage, window: { addEventListener: () => {} } });
const {
  contentOf,
  conversations,
  deleteConversation,
  MAX_CHARS,
  MAX_CHARS_OF_ONE,
  MAX_CONVERSATIONS,
  renameConversation,
  saveConversation,
  titleOf,
} = await import('../src/pages/chat/conversations');

const say = (text: string, role: 'user' | 'assistant' = 'user'): ToolyardMessage => ({
  id: text.slice(0, 9),
  role,
  parts: [{ type: 'text', text }],
});
const save = (user: string, id: string, ...messages: ToolyardMessage[]) =>
  saveConversation(user, id, { messages, durations: {} }, { open: false, model: null });

beforeEach(() => {
  for (const user of ['ada', 'bob']) for (const { id } of conversations(user)) deleteConversation(user, id);
  kept.clear();
  room = Number.POSITIVE_INFINITY;
});

test('saved conversations are restored for their user only, newest first', () => {
  save('ada', 'one', say('first'));
  save('ada', 'two', say('second'));
  assert.deepEqual(
    conversations('ada').map(({ title }) => title),
    ['second', 'first'],
  );
  assert.deepEqual(contentOf('ada', 'one')?.messages, [say('first')]);
  assert.deepEqual([conversations('bob'), contentOf('bob', 'one')], [[], null]);
});

test('a name set by the user is kept', () => {
  save('ada', 'one', say('first'));
  renameConversation('ada', 'one', 'Mine');
  save('ada', 'one', say('other'));
  assert.equal(conversations('ada')[0]?.title, 'Mine');
});

test('the number of conversations is limited, and the oldest are deleted with their content', () => {
  for (let n = 0; n <= MAX_CONVERSATIONS; n += 1) save('ada', `c${n}`, say('x'));
  assert.equal(conversations('ada').length, MAX_CONVERSATIONS);
  assert.equal(contentOf('ada', 'c0'), null);
  assert.ok(contentOf('ada', 'c1'));
});

test('total size and size per conversation are limited', () => {
  const large = 'x'.repeat(MAX_CHARS_OF_ONE - 1_000);
  for (const id of ['a', 'b', 'c']) save('ada', id, say(large));
  assert.deepEqual(
    conversations('ada').map(({ id }) => id),
    ['c', 'b'],
  );
  assert.ok([...kept.values()].reduce((sum, text) => sum + text.length, 0) < MAX_CHARS + 10_000);
  save('ada', 'd', ...Array.from({ length: 40 }, (_, n) => say(`${n} `.padEnd(MAX_CHARS_OF_ONE / 20, 'x'))));
  const left = contentOf('ada', 'd')?.messages ?? [];
  assert.ok(left.length > 10 && left.length < 20, 'the beginning goes');
  assert.match(left.at(-1)?.id ?? '', /^39/);
});

test('full storage deletes older conversations first, and saving fails if that is not enough', () => {
  save('ada', 'old', say('x'.repeat(5_000)));
  room = 7_000;
  assert.equal(save('ada', 'new', say('y'.repeat(5_000))), true);
  assert.deepEqual(
    conversations('ada').map(({ id }) => id),
    ['new'],
  );
  assert.equal(save('ada', 'huge', say('z'.repeat(9_000))), false);
  assert.deepEqual([conversations('ada').length, contentOf('ada', 'new')?.messages.length], [1, 1], 'and then nothing goes');
});

test('storage filled by others deletes no more than needed', () => {
  for (const id of ['a', 'b', 'c', 'd']) save('ada', id, say(id.repeat(2_000)));
  kept.set('of somebody else', 'x'.repeat(50_000));
  room = [...kept.values()].reduce((sum, text) => sum + text.length, 0);
  assert.equal(save('ada', 'e', say('e'.repeat(2_000))), true);
  assert.deepEqual(
    conversations('ada').map(({ id }) => id),
    ['e', 'd', 'c', 'b'],
  );
  assert.equal(save('ada', 'f', say('f'.repeat(20_000))), false);
  assert.equal(save('ada', 'd', say('d'.repeat(20_000))), false);
  for (const id of ['b', 'c', 'd', 'e']) assert.equal(contentOf('ada', id)?.messages.length, 1, id);
  assert.equal(contentOf('ada', 'f'), null);
});

test('a failed save leaves the previous state', () => {
  save('ada', 'one', say('first'));
  const list = kept.get('toolyard.chats/ada');
  const setItem = localStorage.setItem;
  localStorage.setItem = (key, value) => {
    if (key.startsWith('toolyard.chats/')) throw new Error('full');
    setItem(key, value);
  };
  assert.equal(save('ada', 'one', say('second')), false);
  assert.equal(save('ada', 'two', say('x'.repeat(5_000))), false);
  localStorage.setItem = setItem;
  assert.deepEqual(
    [contentOf('ada', 'one')?.messages, contentOf('ada', 'two'), kept.get('toolyard.chats/ada')],
    [[say('first')], null, list],
  );
});

test('a message that is too long does not clear the conversation', () => {
  save('ada', 'one', say('first'));
  assert.equal(save('ada', 'one', say('first'), say('x'.repeat(MAX_CHARS_OF_ONE), 'assistant')), false);
  assert.deepEqual(contentOf('ada', 'one')?.messages, [say('first')]);
});

test('titles are short and on one line', () => {
  assert.equal(titleOf([]), 'New conversation');
  assert.equal(titleOf([say('hello', 'assistant'), say(' a\n\nb ')]), 'a b');
  assert.equal(titleOf([say('x'.repeat(200))]).length, 80);
});
