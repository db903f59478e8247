import assert from 'node:assert/strict';
import test from 'node:test';

import { MAX_TOOL_ROUNDS, NOTICE_TOOL_ROUNDS, PluginManager, type ChatAnswer } from '@toolyard/client';

import { chunks, noticesOf, recorded, sse, Stage, stored, textOf, timePlugin, told, toolsOf } from './stage.js';

/** A manager with a clock that counts, and what it told of the answer. */
async function counting() {
  const seen = { runs: 0, answers: [] as ChatAnswer[] };
  const manager = new PluginManager();
  await manager.use({
    ...timePlugin(() => (seen.runs += 1)),
    hooks: { afterResponse: (answer) => void seen.answers.push(answer) },
  });
  return { manager, seen };
}

/** The same response again, with a call of its own. */
const again = (n: number) => told(sse('loop-1').replaceAll(/call_\w+/g, `call_${n}`));

test('at the limit of rounds tools do not run and a notice is shown', async (t) => {
  const stage = await Stage.start(t, recorded('loop-1'), recorded('loop-2'), recorded('loop-3'));
  const { manager, seen } = await counting();
  const chat = stage.chat(manager, { maxToolRounds: 3 });
  await chat.sendMessage({ text: 'loop' });
  assert.deepEqual([chat.status, stage.seen.length, seen.runs], ['ready', 3, 2]);
  assert.deepEqual(
    toolsOf(chat)?.map(({ state }) => state),
    ['output-available', 'output-available', 'input-available'],
  );
  const message = 'The model wants to call tools again after 3 requests; the limit is reached, and they were not run.';
  assert.deepEqual(noticesOf(chat), [{ code: NOTICE_TOOL_ROUNDS, message }]);
  const [{ finish, rounds, calls, results, history }] = seen.answers as [ChatAnswer];
  assert.deepEqual([finish, rounds, calls.length, results.length], ['tool-rounds', 3, 3, 2]);
  assert.deepEqual(history, stored(chat.messages));
});

test('with one round no tool ever runs', async (t) => {
  const stage = await Stage.start(t, recorded('loop-1'));
  const { manager, seen } = await counting();
  await stage.chat(manager, { maxToolRounds: 1 }).sendMessage({ text: 'loop' });
  assert.deepEqual([stage.seen.length, seen.runs], [1, 0]);
});

test('a chat has five rounds by default', async (t) => {
  const stage = await Stage.start(t, ...Array.from({ length: 9 }, (_, n) => again(n)));
  const { manager, seen } = await counting();
  await stage.chat(manager).sendMessage({ text: 'loop' });
  assert.deepEqual([stage.seen.length, seen.runs], [MAX_TOOL_ROUNDS, MAX_TOOL_ROUNDS - 1]);
});

test('zero means no limit', async (t) => {
  const stage = await Stage.start(t, ...Array.from({ length: 9 }, (_, n) => again(n)), recorded('server'));
  const { manager, seen } = await counting();
  const chat = stage.chat(manager, { maxToolRounds: 0 });
  await chat.sendMessage({ text: 'loop' });
  assert.deepEqual([stage.seen.length, seen.runs, textOf(chat)], [10, 9, '42.']);
});

test('a chat at its limit continues with the next user message and a new count', async (t) => {
  const stage = await Stage.start(t, recorded('loop-1'), recorded('loop-2'), recorded('time-1'), recorded('time-2'));
  const { manager, seen } = await counting();
  const chat = stage.chat(manager, { maxToolRounds: 2 });
  await chat.sendMessage({ text: 'loop' });
  assert.equal(seen.runs, 1);
  await chat.sendMessage({ text: 'time' });
  assert.deepEqual([chat.status, seen.runs, textOf(chat)], ['ready', 2, 'Let me look. It is noon.']);
  const sent = stage.seen[2]!.body.messages[1].parts;
  assert.equal(sent.at(-2).state, 'input-available', 'the open call is sent as it is, and the server counts it as failed');
});

test('rounds are counted in the messages, so a reload does not reset the count', async (t) => {
  const stage = await Stage.start(t, recorded('loop-1'), recorded('loop-2'));
  const { manager, seen } = await counting();
  const before = stage.chat(manager, { maxToolRounds: 2 });
  await before.sendMessage({ text: 'loop' });
  const messages = structuredClone(before.messages);
  const after = (await Stage.start(t, recorded('loop-3'))).chat(manager, { maxToolRounds: 3 }, { messages });
  seen.runs = 0;
  // The user lets it go on without a word.
  await after.sendMessage();
  assert.deepEqual([seen.runs, seen.answers.at(-1)?.rounds], [0, 3]);
});

test('steps with server tools do not count as rounds', async (t) => {
  const [byServer, byPage] = ['server', 'time'].map((id) => ({
    type: 'tool-input-available',
    toolCallId: id,
    input: {},
  }));
  const messageId = sse('mixed-1').match(/msg_\w+/)?.[0];
  const first = chunks(
    { type: 'start', messageId },
    { type: 'start-step' },
    { ...byServer, toolName: 'toolyard__calculate', providerExecuted: true },
    { type: 'tool-output-available', toolCallId: 'server', output: '42', providerExecuted: true },
    { type: 'finish-step' },
    { type: 'start-step' },
    { ...byPage, toolName: 'get_current_time' },
    { type: 'finish-step' },
    { type: 'finish', finishReason: 'tool-calls' },
  );
  const stage = await Stage.start(t, first, recorded('mixed-1'), recorded('server'));
  const { manager, seen } = await counting();
  const chat = stage.chat(manager, { maxToolRounds: 3 });
  await chat.sendMessage({ text: 'mixed' });
  assert.deepEqual([seen.runs, seen.answers[0]?.rounds, noticesOf(chat)], [2, 3, []]);
});
