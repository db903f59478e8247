import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import test from 'node:test';

import {
  createChatOptions,
  TruncatedError,
  PluginManager,
  type ChatAnswer,
  type ToolContext,
  type ToolyardMessage,
} from '@toolyard/client';

import { chunks, head, promise, recorded, shows, sse, Stage, stored, textOf, timePlugin, tool, toolsOf, type Play } from './stage.js';

/** The first events of a stream. */
const begun = (name: string, events: number) =>
  sse(name)
    .split('\n\n')
    .slice(0, events)
    .map((event) => `${event}\n\n`)
    .join('');

/** A clock that hangs until it is told to go on. */
function hanging() {
  const [running, go] = [promise<ToolContext>(), promise()];
  const plugin = timePlugin(async (_, cx) => {
    running.resolve(cx);
    await go.kept;
    return 'too late';
  });
  return { plugin, running: running.kept, go: go.resolve };
}

test('stopping a response stops the tools, and late results are dropped', async (t) => {
  const stage = await Stage.start(t, recorded('time-1'), recorded('time-2'));
  const { plugin, running, go } = hanging();
  const manager = new PluginManager();
  await manager.use(plugin);
  const chat = stage.chat(manager);
  const asking = chat.sendMessage({ text: 'time' });
  const cx = await running;
  assert.deepEqual([chat.status, cx.signal.aborted], ['streaming', false]);
  await chat.stop();
  await asking;
  assert.deepEqual([chat.status, cx.signal.aborted], ['ready', true]);
  go();
  await new Promise((soon) => setImmediate(soon));
  assert.deepEqual(
    toolsOf(chat)?.map(({ state }) => state),
    ['input-available'],
  );
  assert.equal(stage.seen.length, 1, 'nothing is sent');
});

test('cancelling the transport stream stops everything', async (t) => {
  const stage = await Stage.start(t, recorded('time-1'));
  const { plugin, running } = hanging();
  const manager = new PluginManager();
  await manager.use(plugin);
  const { transport } = createChatOptions(manager, { url: stage.url });
  const trigger = 'submit-message' as const;
  const request = { trigger, chatId: 'c', messageId: undefined, messages: [], abortSignal: undefined };
  const reader = (await transport.sendMessages(request)).getReader();
  const reading = (async () => {
    while (!(await reader.read()).done);
  })();
  const cx = await running;
  await reader.cancel();
  await reading;
  assert.ok(cx.signal.aborted);
});

test('results from before the stop are kept', async (t) => {
  const stage = await Stage.start(t, recorded('two-1'));
  const running = promise();
  const manager = new PluginManager().registerTool(tool('first')).registerTool(
    tool('second', () => {
      running.resolve();
      return new Promise(() => {});
    }),
  );
  const chat = stage.chat(manager);
  const asking = chat.sendMessage({ text: 'two' });
  await running.kept;
  await shows(chat, () => toolsOf(chat)?.[0]?.state === 'output-available');
  await chat.stop();
  await asking;
  assert.deepEqual(
    toolsOf(chat)?.map(({ state, output }) => [state, output]),
    [
      ['output-available', 'first ran'],
      ['input-available', undefined],
    ],
  );
  assert.equal(stage.seen.length, 1);
});

test('stopping a response cancels the request, and no tool runs', async (t) => {
  const closed = promise();
  const stage = await Stage.start(t, (response) => {
    response.on('close', () => closed.resolve());
    head(response).write(begun('time-1', 10));
  });
  const manager = new PluginManager();
  await manager.use(timePlugin(() => assert.fail('it must not run')));
  const chat = stage.chat(manager);
  const asking = chat.sendMessage({ text: 'time' });
  await shows(chat, () => toolsOf(chat)?.[0]?.state === 'input-available');
  await chat.stop();
  await closed.kept;
  await asking;
  assert.equal(chat.status, 'ready');
});

/** The connection breaks there. */
const breaks =
  (name: string, events: number): Play =>
  (response) =>
    head(response).write(begun(name, events), () => response.destroy());

/** It ends there as if that were all. */
const ends =
  (name: string, events: number): Play =>
  (response) =>
    head(response).end(begun(name, events));

test('a truncated response is an error, and no tool runs', async (t) => {
  const stage = await Stage.start(t, ends('time-1', 10), breaks('time-1', 10));
  const manager = new PluginManager();
  await manager.use({
    ...timePlugin(() => assert.fail('it must not run')),
    hooks: { afterResponse: () => assert.fail('there is no answer') },
  });
  const ways: boolean[] = [];
  const chat = stage.chat(manager, {}, { onFinish: ({ isDisconnect }) => void ways.push(isDisconnect) });
  await chat.sendMessage({ text: 'time' });
  assert.ok(chat.error instanceof TruncatedError);
  assert.match(chat.error.message, /^the response ended before it was complete/);
  assert.deepEqual([chat.status, textOf(chat), ways], ['error', 'Let me look. ', [true]], 'what was told is there');
  await chat.regenerate();
  assert.equal(chat.status, 'error');
  assert.equal(stage.seen.length, 2);
});

test('after a lost connection a response is resumed, its tool runs, and the conversation continues', async (t) => {
  const stage = await Stage.start(t, ends('time-1', 4), recorded('time-1'), recorded('time-2'));
  const answers: ChatAnswer[] = [];
  const manager = new PluginManager();
  await manager.use({ ...timePlugin(), hooks: { afterResponse: (answer) => void answers.push(answer) } });
  const chat = stage.chat(manager, { resumable: true, token: 'secret' }, { id: 'chat/1' });
  await chat.sendMessage({ text: 'time' });
  assert.equal(chat.status, 'error');
  await chat.resumeStream();
  assert.deepEqual([chat.status, textOf(chat)], ['ready', 'Let me look. It is noon.']);
  assert.deepEqual(
    stage.seen.map(({ method, path, headers }) => [method, path, headers.authorization]),
    [
      ['POST', '/api/chat', 'Bearer secret'],
      ['GET', '/api/chat/chat%2F1/stream', 'Bearer secret'],
      ['POST', '/api/chat', 'Bearer secret'],
    ],
  );
  assert.deepEqual(answers[0]?.history, stored(chat.messages));
});

test('after a lost connection in a later round the earlier rounds are kept', async (t) => {
  const stage = await Stage.start(t, recorded('time-1'), ends('time-2', 4), recorded('time-2'));
  let runs = 0;
  const manager = new PluginManager();
  await manager.use(timePlugin(() => (runs += 1)));
  const chat = stage.chat(manager, { resumable: true });
  await chat.sendMessage({ text: 'time' });
  assert.equal(chat.status, 'error');
  await chat.resumeStream();
  assert.deepEqual([chat.status, textOf(chat), runs], ['ready', 'Let me look. It is noon.', 1]);
  assert.deepEqual(
    toolsOf(chat)?.map(({ output }) => output),
    [1],
  );
});

test('after a reload a response is resumed and its tool runs', async (t) => {
  const stage = await Stage.start(t, recorded('time-1'), recorded('time-2'));
  const answers: ChatAnswer[] = [];
  const manager = new PluginManager();
  await manager.use({ ...timePlugin(), hooks: { afterResponse: (answer) => void answers.push(answer) } });
  const asked = { id: 'u', role: 'user' as const, parts: [{ type: 'text' as const, text: 'time' }] };
  const chat = stage.chat(manager, { resumable: true, messages: [asked] }, { id: 'c' });
  await chat.resumeStream();
  assert.deepEqual([chat.status, chat.messages.length, textOf(chat)], ['ready', 2, 'Let me look. It is noon.']);
  assert.deepEqual(answers[0]?.history, stored(chat.messages));
});

test('after a reload in a later round the earlier rounds are kept', async (t) => {
  // What a page may have kept of an answer in two rounds, at any time of the second.
  const before = await Stage.start(t, recorded('mixed-1'), recorded('mixed-2'));
  const manager = new PluginManager();
  await manager.use(timePlugin(() => 'noon'));
  const whole = before.chat(manager);
  await whole.sendMessage({ text: 'mixed' });
  const [asked, answer] = whole.messages as [ToolyardMessage, ToolyardMessage];
  for (const kept of [4, 5, 6]) {
    const messages = structuredClone([asked, { ...answer, parts: answer.parts.slice(0, kept) }]);
    const stage = await Stage.start(t, recorded('mixed-2'));
    const chat = stage.chat(manager, { messages });
    await chat.resumeStream();
    assert.deepEqual(chat.messages, whole.messages, `${kept} parts`);
    assert.equal(stage.seen.length, 1);
  }
});

test('every kind of part survives a lost connection', async (t) => {
  const parts: ToolyardMessage['parts'] = [
    { type: 'step-start' },
    { type: 'reasoning', text: 'Hm.', state: 'done' },
    { type: 'text', text: 'Look:', state: 'done' },
    { type: 'source-url', sourceId: 's', url: 'https://example.com/', title: 'Example' },
    { type: 'source-document', sourceId: 'd', mediaType: 'text/plain', title: 'Notes' },
    { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AA==' },
    { type: 'data-notice', data: { code: 'x', message: 'y' } },
    {
      type: 'tool-a',
      toolCallId: '1',
      state: 'output-error',
      input: {},
      errorText: 'no',
      providerExecuted: true,
    } as any,
    { type: 'dynamic-tool', toolName: 'b', toolCallId: '2', state: 'output-available', input: { x: 1 }, output: null },
  ];
  const answer: ToolyardMessage = { id: 'msg_1', role: 'assistant', parts };
  const end = [
    { type: 'start', messageId: 'msg_1' },
    { type: 'start-step' },
    { type: 'text-start', id: 't1' },
    { type: 'text-end', id: 't1' },
    { type: 'finish-step' },
    { type: 'finish', finishReason: 'stop' },
  ];
  const stage = await Stage.start(t, chunks(...end));
  const chat = stage.chat(new PluginManager(), { messages: [answer] });
  await chat.resumeStream();
  const known = (part: object) => JSON.parse(JSON.stringify({ ...part, id: undefined }));
  assert.deepEqual(
    chat.lastMessage?.parts.map(known),
    [...parts, { type: 'step-start' }, { type: 'text', text: '', state: 'done' }].map(known),
  );
});

test('resuming without an active stream does nothing', async (t) => {
  const stage = await Stage.start(t, (response) => response.writeHead(204).end());
  const chat = stage.chat(new PluginManager());
  await chat.resumeStream();
  assert.deepEqual([chat.status, chat.messages], ['ready', []]);
});

test('after the end the client does not wait long for the connection to close', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let open!: ServerResponse;
  const closed = promise();
  const stage = await Stage.start(t, (response) => {
    open = response.on('close', () => closed.resolve());
    head(open).write(sse('server').replace('data: [DONE]\n\n', ''));
  });
  const chat = stage.chat(new PluginManager());
  await chat.sendMessage({ text: 'server' });
  assert.deepEqual([chat.status, textOf(chat), open.destroyed], ['ready', '42.', false]);
  t.mock.timers.tick(1000);
  await closed.kept;
});
