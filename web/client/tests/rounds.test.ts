import assert from 'node:assert/strict';
import test from 'node:test';

import { createChatOptions, PluginManager, type CallRun } from '@toolyard/client';

import { keeping, promise, recorded, Stage, stored, textOf, timePlugin, tool, toolsOf } from './stage.js';

test('a client tool runs and the conversation continues', async (t) => {
  const stage = await Stage.start(t, recorded('time-1'), recorded('time-2'));
  const manager = new PluginManager();
  await manager.use(timePlugin());
  const chat = stage.chat(manager);
  await chat.sendMessage({ text: 'time' });
  assert.deepEqual([chat.status, textOf(chat)], ['ready', 'Let me look. It is noon.']);
  assert.equal(chat.messages.length, 2, 'one message of the user, one answer');
  assert.equal(stage.seen.length, 2);
  const [first, second] = stage.seen.map(({ body }) => body);
  assert.deepEqual(first.clientTools, manager.clientToolDefinitions());
  assert.deepEqual(second.clientTools, first.clientTools);
  const { toolCallId, ...part } = second.messages[1].parts[2];
  assert.match(toolCallId, /^call_/);
  assert.deepEqual(part, {
    type: 'tool-get_current_time',
    state: 'output-available',
    input: { timezone: 'UTC' },
    output: { time: '12:00', timezone: 'UTC' },
  });
  assert.equal(second.messageId, second.messages[1].id, 'it goes on with the same message');
});

test('requests without tools and options have no fields for them', async (t) => {
  const stage = await Stage.start(t, recorded('server'));
  await stage.chat(new PluginManager()).sendMessage({ text: 'server' });
  const [seen] = stage.seen;
  assert.deepEqual(Object.keys(seen!.body).sort(), ['id', 'messages', 'trigger']);
  assert.equal(seen!.headers.authorization, undefined);
  assert.equal(seen!.headers['x-user-id'], undefined);
});

test('requests carry the options, and a message can override them', async (t) => {
  const stage = await Stage.start(t, recorded('server'), recorded('server'));
  let tokens = 0;
  const token = async () => `secret-${(tokens += 1)}`;
  const said = { token, user: 'ada@example.com', model: 'a/b', system: 'Be brief.', categories: ['x'], maxSteps: 3 };
  const chat = stage.chat(new PluginManager(), { ...said, resumable: true });
  await chat.sendMessage({ text: 'one' });
  const { messages: _, id, ...body } = stage.seen[0]!.body;
  const common = { trigger: 'submit-message', system: 'Be brief.', maxSteps: 3, resumable: true };
  assert.deepEqual(body, { ...common, model: 'a/b', selectedToolCategories: ['x'] });
  assert.equal(id, chat.id);
  const own = {
    maxSteps: 1,
    model: 'c/d',
    selectedToolCategories: ['y'],
    excludedTools: ['z'],
    clientTools: [tool('unknown')],
  };
  await chat.sendMessage({ text: 'two' }, { body: own });
  const { messages: __, id: ___, ...other } = stage.seen[1]!.body;
  assert.deepEqual(other, {
    ...common,
    maxSteps: 1,
    model: 'c/d',
    selectedToolCategories: ['y'],
    excludedTools: ['z'],
  });
  assert.deepEqual(
    stage.seen.map(({ headers }) => headers.authorization),
    ['Bearer secret-1', 'Bearer secret-2'],
  );
  assert.equal(stage.seen[0]!.headers['x-user-id'], 'ada@example.com');
});

test('a server tool alone needs one request', async (t) => {
  const stage = await Stage.start(t, recorded('server'));
  const chat = stage.chat(new PluginManager());
  await chat.sendMessage({ text: 'server' });
  assert.deepEqual([stage.seen.length, textOf(chat)], [1, '42.']);
});

test('server tools and client tools run in one step', async (t) => {
  const stage = await Stage.start(t, recorded('mixed-1'), recorded('mixed-2'));
  const manager = new PluginManager();
  await manager.use(timePlugin(() => 'noon'));
  const chat = stage.chat(manager);
  await chat.sendMessage({ text: 'mixed' });
  assert.deepEqual([stage.seen.length, textOf(chat)], [2, '42 at noon.']);
  assert.deepEqual(
    toolsOf(chat)?.map(({ type, output }) => [type, output]),
    [
      ['tool-toolyard__calculate', '42'],
      ['tool-get_current_time', 'noon'],
    ],
  );
});

test('tools run concurrently', async (t) => {
  const stage = await Stage.start(t, recorded('two-1'), recorded('two-2'));
  const [first, second] = [promise(), promise()];
  // Each waits for the other: one after the other they would wait for ever.
  const manager = new PluginManager()
    .registerTool(
      tool('first', async () => {
        first.resolve();
        await second.kept;
        return 1;
      }),
    )
    .registerTool(
      tool('second', async () => {
        second.resolve();
        await first.kept;
        return 2;
      }),
    );
  const chat = stage.chat(manager);
  await chat.sendMessage({ text: 'two' });
  assert.deepEqual(
    toolsOf(chat)?.map(({ output }) => output),
    [1, 2],
  );
  assert.deepEqual([stage.seen.length, textOf(chat)], [2, 'Both done.'], 'both results go in one request');
});

test('`onToolCall` of the program replaces hooks and executors', async (t) => {
  const stage = await Stage.start(t, recorded('two-1'), recorded('two-2'));
  const seen: unknown[] = [];
  const onToolCall = async ({ call, context, isKnown, run }: CallRun) => {
    seen.push([call.tool, call.input, call.id === context.callId, isKnown]);
    if (call.tool === 'second') throw new Error('the user said no');
    return { watched: await run() };
  };
  const chat = stage.chat(new PluginManager().registerTool(tool('first')), { onToolCall });
  await chat.sendMessage({ text: 'two' });
  assert.deepEqual(seen, [
    ['first', { a: 1 }, true, true],
    ['second', { b: 2 }, true, false],
  ]);
  assert.deepEqual(
    toolsOf(chat)?.map(({ output }) => output),
    [{ watched: 'first ran' }, { error: 'the user said no' }],
  );
});

test('a tool that was removed after it was offered still runs', async (t) => {
  const manager = new PluginManager();
  await manager.use(timePlugin());
  const stage = await Stage.start(
    t,
    async (response) => {
      await manager.unuse('time');
      recorded('time-1')(response);
    },
    recorded('time-2'),
  );
  const chat = stage.chat(manager);
  await chat.sendMessage({ text: 'time' });
  assert.deepEqual(toolsOf(chat)?.[0]?.output, { time: '12:00', timezone: 'UTC' });
  assert.equal(stage.seen[1]!.body.clientTools, undefined, 'it is not offered any more');
});

test('calls are traced without their content', async (t) => {
  const stage = await Stage.start(t, recorded('time-1'), recorded('time-2'));
  const log = keeping();
  const manager = new PluginManager({ debug: true, log });
  await manager.use(timePlugin(() => 'the secret result'));
  await stage.chat(manager, { token: 'the-secret-token' }).sendMessage({ text: 'the secret question' });
  assert.equal(log.lines.length, 1);
  assert.match(log.lines[0]!, /^debug toolyard: call call_\w+ of get_current_time\(timezone\) ran in \d+ ms$/);
});

test('messages wrapped in proxies by a framework are sent', async (t) => {
  const stage = await Stage.start(t, recorded('server'));
  const { transport } = createChatOptions(new PluginManager(), { url: `${stage.url}/` });
  const message = { id: 'u', role: 'user' as const, parts: new Proxy([{ type: 'text' as const, text: 'server' }], {}) };
  const trigger = 'submit-message' as const;
  const messages = [new Proxy(message, {})];
  await transport.sendMessages({ trigger, chatId: 'c', messageId: undefined, messages, abortSignal: undefined });
  assert.deepEqual(stage.seen[0]!.body.messages, stored([message]));
  assert.equal(stage.seen[0]!.path, '/api/chat');
});
