import assert from 'node:assert/strict';
import test from 'node:test';

import { MAX_AT_ONCE, MAX_RESULT_BYTES, PluginManager, PROGRESS_QUEUE, type ProgressData, type ToolContext } from '@toolyard/client';

import { chunks, noticesOf, promise, recorded, shows, Stage, textOf, timePlugin, tool, toolsOf } from './stage.js';

/** Calls of tools of this client, as one step of a response. */
const calling = (...calls: { id: string; tool: string; input?: unknown }[]) =>
  chunks(
    { type: 'start', messageId: 'msg_1' },
    { type: 'start-step' },
    ...calls.map(({ id, tool, input = {} }) => ({
      type: 'tool-input-available',
      toolCallId: id,
      toolName: tool,
      input,
    })),
    { type: 'finish-step' },
    { type: 'finish', finishReason: 'tool-calls' },
  );

test('the number of concurrent calls is limited, and the others run afterwards', async (t) => {
  const calls = Array.from({ length: MAX_AT_ONCE + 3 }, (_, n) => ({ id: `c${n}`, tool: 'slow' }));
  const stage = await Stage.start(t, calling(...calls), recorded('time-2'));
  const [full, go] = [promise(), promise()];
  let [running, most] = [0, 0];
  const slow = async () => {
    running += 1;
    most = Math.max(most, running);
    if (running === MAX_AT_ONCE) full.resolve();
    await go.kept;
    running -= 1;
  };
  const chat = stage.chat(new PluginManager().registerTool(tool('slow', slow)));
  const asking = chat.sendMessage({ text: 'go' });
  await full.kept;
  await new Promise((soon) => setImmediate(soon));
  assert.equal(running, MAX_AT_ONCE);
  go.resolve();
  await asking;
  assert.equal(most, MAX_AT_ONCE);
  const sent = stage.seen[1]!.body.messages[1].parts.filter(({ type }: any) => type === 'tool-slow');
  assert.deepEqual([sent.length, sent.every(({ output }: any) => output === null)], [calls.length, true]);
});

test('a tool that fails returns the reason to the model', async (t) => {
  const stage = await Stage.start(t, recorded('two-1'), recorded('two-2'));
  const manager = new PluginManager()
    .registerTool(
      tool('first', () => {
        throw new Error('the lamp is broken');
      }),
    )
    .registerTool(tool('second', () => Promise.reject('no words')));
  const chat = stage.chat(manager);
  await chat.sendMessage({ text: 'two' });
  assert.deepEqual(
    toolsOf(chat)?.map(({ state, output }) => [state, output]),
    [
      ['output-available', { error: 'the lamp is broken' }],
      ['output-available', { error: 'no words' }],
    ],
  );
  assert.equal(textOf(chat), 'Both done.');
});

test('any thrown value becomes an error message for the model', async (t) => {
  const silent = Object.create(null);
  const far = { message: 'of another window' };
  const thrown = [silent, far, new RangeError(), { toString: () => assert.fail() }, 'x'.repeat(5000), undefined];
  const calls = thrown.map((_, n) => ({ id: `c${n}`, tool: 'throws', input: { n } }));
  const stage = await Stage.start(t, calling(...calls), recorded('time-2'));
  const throws = tool('throws', ({ n }) => {
    throw thrown[n as number];
  });
  await stage.chat(new PluginManager().registerTool(throws)).sendMessage({ text: 'go' });
  const parts = stage.seen[1]!.body.messages[1].parts.filter(({ type }: any) => type === 'tool-throws');
  const none = 'it failed without a message';
  const wanted = [none, 'of another window', 'RangeError', none, 'x'.repeat(2000), 'undefined'];
  assert.deepEqual(
    parts.map(({ output }: any) => output.error),
    wanted,
  );
});

test('an unknown tool is an error for the model, and the others run', async (t) => {
  const stage = await Stage.start(t, recorded('two-1'), recorded('two-2'));
  const chat = stage.chat(new PluginManager().registerTool(tool('second')));
  await chat.sendMessage({ text: 'two' });
  assert.deepEqual(
    toolsOf(chat)?.map(({ output }) => output),
    [{ error: 'this client has no tool `first`' }, 'second ran'],
  );
});

test('a tool that times out is an error and is cancelled', async (t) => {
  const stage = await Stage.start(t, recorded('two-1'), recorded('two-2'));
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const begun = promise();
  let cx!: ToolContext;
  const hang = (_: unknown, given: ToolContext) => {
    cx = given;
    begun.resolve();
    return new Promise(() => {});
  };
  const chat = stage.chat(new PluginManager().registerTool(tool('first', hang)).registerTool(tool('second')));
  const asking = chat.sendMessage({ text: 'two' });
  await begun.kept;
  await shows(chat, () => toolsOf(chat)?.[1]?.state === 'output-available');
  t.mock.timers.tick(29_999);
  assert.ok(!cx.signal.aborted);
  t.mock.timers.tick(1);
  await asking;
  assert.ok(cx.signal.aborted);
  assert.deepEqual(
    toolsOf(chat)?.map(({ output }) => output),
    [{ error: 'the tool `first` took longer than 30000 ms' }, 'second ran'],
  );
});

test('results that are too large or not JSON are errors', async (t) => {
  const stage = await Stage.start(t, recorded('two-1'), recorded('two-2'), recorded('two-1'), recorded('two-2'));
  const loop: any = {};
  loop.loop = loop;
  const manager = new PluginManager()
    .registerTool(tool('first', () => 'x'.repeat(MAX_RESULT_BYTES - 1)))
    .registerTool(tool('second', () => loop));
  const chat = stage.chat(manager);
  await chat.sendMessage({ text: 'two' });
  const [large, circular] = toolsOf(chat)!.map(({ output }) => output.error);
  assert.equal(large, `the result has 1048577 bytes; at most 1048576 can be taken. Ask for less`);
  assert.match(circular, /^the result cannot be written as JSON: /);
});

test('later changes of a tool to its arguments and result do not change the conversation', async (t) => {
  const stage = await Stage.start(t, recorded('time-1'), recorded('time-2'));
  const result: any = { list: [1], when: new Date(0), skip: undefined };
  const manager = new PluginManager().registerTool(
    tool('get_current_time', (args) => {
      args['timezone'] = 'spoilt';
      return result;
    }),
  );
  const chat = stage.chat(manager);
  await chat.sendMessage({ text: 'time' });
  result.list.push(2);
  const { input, output } = chat.lastMessage!.parts[2] as any;
  assert.deepEqual([input, output], [{ timezone: 'UTC' }, { list: [1], when: '1970-01-01T00:00:00.000Z' }]);
});

test('a duplicate call runs once', async (t) => {
  const twice = calling({ id: 'c1', tool: 'count' }, { id: 'c1', tool: 'count' });
  const stage = await Stage.start(t, twice, recorded('time-2'));
  let count = 0;
  const chat = stage.chat(new PluginManager().registerTool(tool('count', () => (count += 1))));
  await chat.sendMessage({ text: 'go' });
  assert.equal(count, 1);
});

test('a server-side call never runs on the client, even without a result', async (t) => {
  const stage = await Stage.start(
    t,
    chunks(
      { type: 'start', messageId: 'msg_1' },
      { type: 'start-step' },
      { type: 'tool-input-available', toolCallId: 'c1', toolName: 'count', input: {}, providerExecuted: true },
      { type: 'finish-step' },
      { type: 'finish', finishReason: 'tool-calls' },
    ),
  );
  const chat = stage.chat(new PluginManager().registerTool(tool('count', () => assert.fail('it must not run'))));
  await chat.sendMessage({ text: 'go' });
  assert.deepEqual([chat.status, stage.seen.length, toolsOf(chat)?.[0]?.state], ['ready', 1, 'input-available']);
});

test('a call that the response does not wait for is not run', async (t) => {
  const ended = chunks(
    { type: 'start', messageId: 'msg_1' },
    { type: 'start-step' },
    { type: 'tool-input-available', toolCallId: 'c1', toolName: 'count', input: {} },
    { type: 'finish-step' },
    { type: 'data-notice', data: { code: 'time', message: 'The answer took too long.' } },
    { type: 'finish', finishReason: 'other' },
  );
  const stage = await Stage.start(t, ended);
  let count = 0;
  const chat = stage.chat(new PluginManager().registerTool(tool('count', () => (count += 1))));
  await chat.sendMessage({ text: 'go' });
  assert.deepEqual([count, stage.seen.length, noticesOf(chat)?.[0]?.code], [0, 1, 'time']);
});

test('progress of a tool is reported while it runs, and is not stored', async (t) => {
  const stage = await Stage.start(t, recorded('time-1'), recorded('time-2'));
  const heard: ProgressData[] = [];
  const told = promise();
  const execute = async (_: unknown, cx: ToolContext) => {
    cx.progress(1, 2, 'half');
    await told.kept;
    cx.progress(2, NaN, 'x'.repeat(1000));
  };
  const onData = (part: any) => {
    heard.push(part.data);
    told.resolve();
  };
  const manager = new PluginManager();
  await manager.use(timePlugin(execute));
  const chat = stage.chat(manager, {}, { onData });
  await chat.sendMessage({ text: 'time' });
  assert.deepEqual(
    heard.map(({ toolCallId: _, ...rest }) => rest),
    [
      { progress: 1, total: 2, message: 'half' },
      { progress: 2, message: 'x'.repeat(500) },
    ],
  );
  assert.ok(!JSON.stringify(chat.messages).includes('half'));
});

test('progress of a tool after its end is not reported', async (t) => {
  const stage = await Stage.start(t, recorded('two-1'), recorded('two-2'));
  const heard: number[] = [];
  const [first, over] = [promise<ToolContext>(), promise()];
  const manager = new PluginManager().registerTool(tool('first', (_, cx) => first.resolve(cx))).registerTool(
    tool('second', async (_, cx) => {
      const ended = await first.kept;
      await over.kept;
      ended.progress(1);
      cx.progress(2);
    }),
  );
  const chat = stage.chat(manager, {}, { onData: (part: any) => void heard.push(part.data.progress) });
  const asking = chat.sendMessage({ text: 'two' });
  await shows(chat, () => toolsOf(chat)?.[0]?.state === 'output-available');
  over.resolve();
  await asking;
  assert.deepEqual(heard, [2]);
});

test('of many progress reports at once, intermediate ones are dropped, never the last', async (t) => {
  const stage = await Stage.start(t, recorded('time-1'), recorded('time-2'));
  const heard: number[] = [];
  const onData = (part: any) => void heard.push(part.data.progress);
  const manager = new PluginManager();
  await manager.use(timePlugin((_, cx) => Array.from({ length: 100 }, (_, n) => cx.progress(n)).length));
  await stage.chat(manager, {}, { onData }).sendMessage({ text: 'time' });
  assert.deepEqual([heard.length, heard[0], heard.at(-1)], [PROGRESS_QUEUE, 0, 99]);
});
