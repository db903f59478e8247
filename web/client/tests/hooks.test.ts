import assert from 'node:assert/strict';
import test from 'node:test';

import { HookError, NOTICE_HOOK, PluginManager, RefusedError, type ChatAnswer, type RequestDraft, type Hooks } from '@toolyard/client';

import { keeping, noticesOf, promise, recorded, refused, Stage, stored, textOf, timePlugin, tool } from './stage.js';

const named = (name: string, hooks: Hooks) => ({ name, version: '1', hooks });

test('every hook runs at its time, in the order of registration', async (t) => {
  const stage = await Stage.start(t, recorded('two-1'), recorded('two-2'));
  const log: string[] = [];
  const logs = (name: string): Hooks => ({
    onRegister: () => void log.push(`${name}: registers`),
    beforeRequest: ({ round }) => void log.push(`${name}: request ${round}`),
    onToolCall: ({ tool }) => void log.push(`${name}: call ${tool}`),
    afterResponse: ({ text, rounds }) => void log.push(`${name}: response "${text}" after ${rounds} rounds`),
    onUnregister: () => void log.push(`${name}: leaves`),
  });
  const manager = new PluginManager();
  const with_ = (name: string, own: string) => ({
    ...named(name, logs(name)),
    tools: [tool(own)],
    executors: { [own]: () => void log.push(`${name}: runs ${own}`) },
  });
  await (await manager.use(with_('one', 'first'))).use(with_('two', 'second'));
  await stage.chat(manager).sendMessage({ text: 'two' });
  await manager.close();
  // The two calls run side by side, in no order.
  const sorted = [...log.slice(0, 4), ...log.slice(4, 8).sort(), ...log.slice(8)];
  assert.deepEqual(sorted, [
    'one: registers',
    'two: registers',
    'one: request 1',
    'two: request 1',
    'one: call first',
    'one: runs first',
    'two: call second',
    'two: runs second',
    'one: request 2',
    'two: request 2',
    'one: response "Both done." after 2 rounds',
    'two: response "Both done." after 2 rounds',
    'two: leaves',
    'one: leaves',
  ]);
});

test('a hook changes each request and not the conversation', async (t) => {
  const stage = await Stage.start(t, recorded('time-1'), recorded('time-2'));
  const manager = new PluginManager().registerTool(tool('hidden'));
  const beforeRequest = (draft: RequestDraft) => {
    draft.messages.unshift({ id: 'x', role: 'user', parts: [{ type: 'text', text: '(today is Friday)' }] });
    draft.system = 'Be kind.';
    draft.model = 'local/other';
    draft.categories.push('music');
    draft.tools[0]!.description = 'changed';
    draft.tools = [...draft.tools.filter(({ name }) => name !== 'hidden'), tool('added')];
  };
  await (await manager.use(timePlugin())).use(named('changes', { beforeRequest }));
  const chat = stage.chat(manager, { system: 'Be brief.' });
  await chat.sendMessage({ text: 'time' });
  assert.equal(stage.seen.length, 2);
  for (const { body } of stage.seen) {
    const texts = JSON.stringify(body.messages);
    assert.equal(texts.split('(today is Friday)').length, 2, 'each request begins from the conversation');
    assert.deepEqual([body.system, body.model, body.selectedToolCategories], ['Be kind.', 'local/other', ['music']]);
    assert.deepEqual(body.clientTools, timePlugin().tools, 'tools can be hidden, and neither changed nor added');
  }
  assert.ok(!JSON.stringify(chat.messages).includes('Friday'));
  assert.equal(textOf(chat), 'Let me look. It is noon.');
});

test('hooks receive no secrets', async (t) => {
  const stage = await Stage.start(t, recorded('time-1'), recorded('time-2'));
  const seen: unknown[] = [];
  const log = keeping();
  const manager = new PluginManager({ debug: true, log });
  const keeps = (value: unknown) => void seen.push(structuredClone(value));
  await manager.use({
    ...timePlugin(),
    hooks: {
      onRegister: (tools) => keeps(tools.get().map(({ name }) => name)),
      beforeRequest: (draft) => keeps(draft),
      onToolCall: (call, { callId, tool }) => keeps([call, callId, tool]),
      afterResponse: (answer) => keeps(answer),
    },
  });
  const chat = stage.chat(manager, { token: 'the-secret', user: 'ada@example.com' });
  await chat.sendMessage({ text: 'time' }, { headers: { 'x-key': 'the-other-secret' }, body: { apiKey: 'the-third-secret' } });
  assert.deepEqual(
    stage.seen.map(({ headers }) => headers.authorization),
    ['Bearer the-secret', 'Bearer the-secret'],
  );
  assert.deepEqual(
    stage.seen.map(({ body }) => body.apiKey),
    ['the-third-secret', 'the-third-secret'],
  );
  const all = JSON.stringify([seen, log.lines, chat.messages]);
  assert.equal(seen.length, 5);
  assert.ok(!all.includes('secret') && !all.includes('ada@example.com'), all);
});

test('`afterResponse` receives the complete answer with every call and result', async (t) => {
  const stage = await Stage.start(t, recorded('mixed-1'), recorded('mixed-2'));
  const answers: ChatAnswer[] = [];
  const manager = new PluginManager();
  await manager.use({ ...timePlugin(() => 'noon'), hooks: { afterResponse: (answer) => void answers.push(answer) } });
  const chat = stage.chat(manager);
  await chat.sendMessage({ text: 'mixed' });
  assert.equal(answers.length, 1, 'once, after all rounds');
  const { history, calls, results, ...rest } = answers[0]!;
  assert.deepEqual(rest, { text: '42 at noon.', finish: 'stop', rounds: 2 });
  assert.deepEqual(history, stored(chat.messages));
  assert.deepEqual(
    calls.map(({ tool, input, ofServer }) => [tool, input, ofServer]),
    [
      ['toolyard__calculate', { expression: '6 * 7' }, true],
      ['get_current_time', {}, false],
    ],
  );
  assert.deepEqual(
    results.map(({ output, ofServer }) => [output, ofServer]),
    [
      ['42', true],
      ['noon', false],
    ],
  );
});

test('a `beforeRequest` hook that fails ends the chat, and the error names it', async (t) => {
  const stage = await Stage.start(t, recorded('server'));
  const manager = new PluginManager({ log: keeping() });
  let isReady = false;
  const beforeRequest = () => {
    if (!isReady) throw new Error('not today');
  };
  await manager.use(named('gate', { beforeRequest }));
  const chat = stage.chat(manager);
  await chat.sendMessage({ text: 'server' });
  assert.ok(chat.error instanceof HookError);
  assert.deepEqual([chat.status, chat.error.plugin, stage.seen.length], ['error', 'gate', 0]);
  assert.equal(chat.error.message, 'the plugin `gate` stopped the request: not today');
  isReady = true;
  await chat.regenerate();
  assert.equal(textOf(chat), '42.');
});

test('an `afterResponse` hook that fails is reported, and the answer is kept', async (t) => {
  const stage = await Stage.start(t, recorded('server'));
  const manager = new PluginManager({ log: keeping() });
  const heard: string[] = [];
  await manager.use(named('full', { afterResponse: () => Promise.reject(new Error('no space left')) }));
  await manager.use(named('other', { afterResponse: ({ text }) => void heard.push(text) }));
  const chat = stage.chat(manager);
  await chat.sendMessage({ text: 'server' });
  assert.deepEqual([chat.status, textOf(chat), heard], ['ready', '42.', ['42.']]);
  const message = 'The plugin `full` failed after the answer: no space left';
  assert.deepEqual(noticesOf(chat), [{ code: NOTICE_HOOK, message }]);
});

test('`afterResponse` does not run for a chat that failed', async (t) => {
  const stage = await Stage.start(t, recorded('broken'), refused(500, 'no'));
  const manager = new PluginManager();
  await manager.use(named('p', { afterResponse: () => assert.fail('there is no answer') }));
  const chat = stage.chat(manager);
  await chat.sendMessage({ text: 'broken' });
  assert.equal(chat.error?.message, 'local/m reported an internal error; try again later.');
  await chat.sendMessage({ text: 'broken' });
  assert.equal(chat.status, 'error');
});

test('stopping while a hook runs does not wait for the hook', async (t) => {
  const stage = await Stage.start(t);
  const begun = promise();
  const manager = new PluginManager({ log: keeping() });
  const beforeRequest = () => {
    begun.resolve();
    return new Promise<void>(() => {});
  };
  await manager.use(named('slow', { beforeRequest }));
  const chat = stage.chat(manager);
  const asking = chat.sendMessage({ text: 'go' });
  await begun.kept;
  await chat.stop();
  await asking;
  assert.deepEqual([chat.status, chat.error, stage.seen.length], ['ready', undefined, 0]);
});

test('the error message of a server that refuses is passed on', async (t) => {
  const told = '{"error":{"code":"INVALID_REQUEST","message":"clientTools.x: no","problems":[{"path":"clientTools.x","message":"no"},5]}}';
  const long = `<html>${'x'.repeat(1000)}`;
  const plays = [refused(400, told), refused(401, '{"error":"who are you?"}'), refused(502, long), refused(503, '')];
  const stage = await Stage.start(t, ...plays);
  const chat = stage.chat(new PluginManager());
  const errors: RefusedError[] = [];
  for (const _ of plays) {
    await chat.sendMessage({ text: 'go' });
    errors.push(chat.error as RefusedError);
  }
  assert.ok(errors.every((error) => error instanceof RefusedError));
  assert.deepEqual(
    errors.map(({ status, code, message }) => [status, code, message]),
    [
      [400, 'INVALID_REQUEST', 'the server refused the request: clientTools.x: no'],
      [401, undefined, 'the server refused the request: who are you?'],
      [502, undefined, `the server refused the request: it answered 502: ${long.slice(0, 200)}`],
      [503, undefined, 'the server refused the request: it answered 503: '],
    ],
  );
  assert.deepEqual(errors[0]!.problems, [{ path: 'clientTools.x', message: 'no' }]);
});
