import assert from 'node:assert/strict';
import test from 'node:test';

import { PluginManager, detachedContext, type RequestDraft } from '@toolyard/client';

import { keeping, tool } from './stage.js';

const echo = () => new PluginManager().registerTool(tool('echo', (args) => args));
const draft = (): RequestDraft => ({ messages: [], categories: [], tools: [], round: 1 });
const answer = () => ({ text: 'hi', calls: [], results: [], finish: 'stop' as const, history: [], rounds: 1 });

test('a tool runs with its arguments', async () => {
  assert.deepEqual(await echo().run({ toolCallId: 'c', toolName: 'echo', input: { a: 1 } }), { a: 1 });
});

test('a call with older field names runs', async () => {
  for (const call of [
    { id: 'c', name: 'echo', arguments: { a: 1 } },
    { id: 'c', name: 'echo', arguments: '{"a":1}' },
    { toolCallId: 'c', toolName: 'echo', args: { a: 1 } },
    { id: 'other', toolCallId: 'c', name: 'other', toolName: 'echo', input: { a: 1 }, args: 5 },
    { id: 'c', tool: 'echo', input: { a: 1 }, ofServer: false },
  ]) {
    assert.deepEqual(await echo().run(call), { a: 1 }, JSON.stringify(call));
  }
});

test('missing arguments are an empty object, and arguments that are not an object are refused', async () => {
  for (const input of [undefined, null, '', ' ']) assert.deepEqual(await echo().run({ id: 'c', name: 'echo', input }), {});
  for (const input of ['half {', '[1]', [1], 5]) {
    await assert.rejects(echo().run({ id: 'c', name: 'echo', input }), /the arguments are not a JSON object/);
  }
});

test('a call has an id and a name', async () => {
  await assert.rejects(echo().run({ name: 'echo' }), /`toolCallId` is missing/);
  await assert.rejects(echo().run({ id: '', name: 'echo' }), /`toolCallId` is missing/);
  await assert.rejects(echo().run({ id: 'c', name: 5 }), /`toolName` is missing/);
});

test('an unknown tool is an error', async () => {
  await assert.rejects(echo().run({ id: 'c', name: 'other' }), /^Error: this client has no tool `other`$/);
});

test('the hook of a plugin runs before its executor, for its own tools only', async () => {
  const manager = echo();
  const asked: string[] = [];
  await manager.use({
    name: 'p',
    version: '1',
    tools: [tool('by_hook'), tool('by_executor'), tool('by_nobody')],
    executors: { by_hook: () => 'executor', by_executor: () => 'executor' },
    hooks: {
      onToolCall: async (call, cx) => {
        assert.deepEqual([cx.tool, cx.callId], [call.tool, call.id]);
        asked.push(call.tool);
        return call.tool === 'by_hook' ? null : undefined;
      },
    },
  });
  const run = (name: string) => manager.run({ id: 'c', name });
  assert.deepEqual([await run('by_hook'), await run('by_executor'), await run('echo')], [null, 'executor', {}]);
  await assert.rejects(run('by_nobody'), /no hook or executor ran the tool `by_nobody`/);
  assert.deepEqual(asked, ['by_hook', 'by_executor', 'by_nobody']);
});

test('executors and hooks keep their `this`', async () => {
  const hooks = {
    seen: 0,
    beforeRequest() {
      this.seen += 1;
    },
  };
  const executors = {
    a() {
      return this.b();
    },
    b: () => 'by b',
  };
  const manager = new PluginManager();
  await manager.use({ name: 'p', version: '1', tools: [tool('a'), tool('b')], executors, hooks });
  assert.equal(await manager.run({ id: 'c', name: 'a' }), 'by b');
  await manager.beforeRequest(draft());
  assert.equal(hooks.seen, 1);
});

test('hooks change a request in order, and each receives the previous change', async () => {
  const manager = new PluginManager();
  const add = (word: string) => ({ beforeRequest: (now: RequestDraft) => ({ ...now, system: `${now.system ?? ''}${word}` }) });
  await manager.use({ name: 'a', version: '1', hooks: add('one ') });
  await manager.use({ name: 'b', version: '1', hooks: { beforeRequest: async (now) => void (now.model = 'm') } });
  await manager.use({ name: 'c', version: '1', hooks: add('two') });
  const changed = await manager.beforeRequest(draft());
  assert.deepEqual([changed.system, changed.model, changed.round], ['one two', 'm', 1]);
});

test('a hook that returns no draft is an error', async () => {
  const manager = new PluginManager({ log: keeping() });
  await manager.use({ name: 'p', version: '1', hooks: { beforeRequest: () => ({ messages: [] }) as any } });
  const text = /^HookError: the plugin `p` stopped the request: it returned something that is not a draft$/;
  await assert.rejects(manager.beforeRequest(draft()), text);
});

test('all hooks receive the answer even if one fails, and none can change it for the next', async () => {
  const manager = new PluginManager({ log: keeping() });
  const heard: string[] = [];
  const spoils = (now: { text: string }) => {
    heard.push(now.text);
    now.text = 'spoilt';
    throw new Error('full');
  };
  await manager.use({ name: 'a', version: '1', hooks: { afterResponse: spoils } });
  await manager.use({ name: 'b', version: '1', hooks: { afterResponse: ({ text }) => void heard.push(text) } });
  assert.deepEqual(await manager.afterResponse(answer()), [{ plugin: 'a', why: 'full' }]);
  assert.deepEqual(heard, ['hi', 'hi']);
});

test('a hook that hangs times out', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const manager = new PluginManager({ log: keeping(), hookTimeout: 50 });
  const hangs = () => new Promise<never>(() => {});
  const hooks = { beforeRequest: hangs, afterResponse: hangs, onUnregister: hangs };
  await manager.use({ name: 'p', version: '1', hooks });
  const after = (what: Promise<unknown>) => {
    t.mock.timers.tick(50);
    return what;
  };
  await assert.rejects(after(manager.beforeRequest(draft())), /stopped the request: it took longer than 50 ms/);
  assert.deepEqual(await after(manager.afterResponse(answer())), [{ plugin: 'p', why: 'it took longer than 50 ms' }]);
  await assert.rejects(after(manager.unuse('p')), /did not end well: it took longer than 50 ms/);
});

test('debug traces each hook; without it only failures are logged', async () => {
  const lines = async (debug: boolean) => {
    const log = keeping();
    const manager = new PluginManager({ debug, log });
    const fails = () => {
      throw new Error('no');
    };
    await manager.use({
      name: 'p',
      version: '1',
      hooks: { onRegister: () => {}, beforeRequest: () => {}, afterResponse: fails },
    });
    await manager.beforeRequest(draft());
    await manager.afterResponse(answer());
    return log.lines.map((line) => line.replace(/\d+ ms/, '0 ms'));
  };
  const failed = 'warn toolyard: afterResponse of `p` failed: no';
  assert.deepEqual(await lines(true), [
    'debug toolyard: onRegister of `p` ran in 0 ms',
    'debug toolyard: beforeRequest of `p` ran in 0 ms',
    failed,
  ]);
  assert.deepEqual(await lines(false), [failed]);
});

test('a log that throws stops nothing', async () => {
  const fails = () => {
    throw new Error('no disk');
  };
  const manager = new PluginManager({ debug: true, log: { debug: fails, warn: fails } });
  await manager.use({ name: 'p', version: '1', hooks: { onRegister: () => {}, afterResponse: fails } });
  assert.deepEqual(await manager.afterResponse(answer()), [{ plugin: 'p', why: 'no disk' }]);
});

test('a detached context accepts progress and is never cancelled', () => {
  const cx = detachedContext('c', 't');
  cx.progress(1);
  assert.deepEqual([cx.callId, cx.tool, cx.signal.aborted], ['c', 't', false]);
});
