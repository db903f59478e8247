import assert from 'node:assert/strict';
import test from 'node:test';

import { PluginError, PluginManager, type PluginTools, type Plugin, type PluginErrorCode } from '@toolyard/client';

import { keeping, promise, timePlugin, tool } from './stage.js';

const definition = (name: string) => {
  const { execute: _, ...rest } = tool(name);
  return rest;
};
const plugin = (name: string, ...tools: string[]): Plugin => ({
  name,
  version: '1',
  tools: tools.map(definition),
  executors: Object.fromEntries(tools.map((tool) => [tool, () => tool])),
});
const quiet = () => new PluginManager({ log: keeping() });

/** Refused with this code and these words, and nothing stays behind. */
async function isRefused(given: unknown, code: PluginErrorCode, text: RegExp) {
  const manager = quiet();
  await assert.rejects(manager.use(given as Plugin), (error: PluginError) => {
    assert.ok(error instanceof PluginError);
    assert.equal(error.code, code);
    assert.match(error.message, text);
    return true;
  });
  assert.deepEqual([manager.pluginNames(), manager.clientToolDefinitions()], [[], []]);
}

test('a valid plugin is registered', async () => {
  const manager = new PluginManager();
  await manager.use(timePlugin());
  assert.ok(manager.hasPlugin('time') && !manager.hasPlugin('other'));
  assert.ok(manager.hasExecutor('get_current_time') && !manager.hasExecutor('other'));
  assert.equal(manager.pluginOf('get_current_time'), 'time');
});

test('`onRegister` is called and can set tools', async () => {
  const manager = new PluginManager();
  const onRegister = async (tools: PluginTools) => tools.replace([...tools.get(), tool('found')]);
  await manager.use({ ...plugin('p', 'own'), hooks: { onRegister } });
  assert.deepEqual(
    manager.clientToolDefinitions().map(({ name }) => name),
    ['own', 'found'],
  );
  assert.equal(await manager.run({ id: '1', name: 'found' }), 'found ran');
});

test('a plugin without a name is refused', async () => {
  for (const name of [undefined, '', '  ', 5]) await isRefused({ name, version: '1' }, 'no-name', /^a plugin needs a name$/);
  await isRefused(undefined, 'no-name', /a plugin needs a name/);
});

test('a plugin without a version is refused', async () => {
  for (const version of [undefined, '', 1]) {
    await isRefused({ name: 'p', version }, 'no-version', /^the plugin `p` needs a version$/);
  }
});

test('a plugin can be registered only once', async () => {
  const manager = new PluginManager();
  await manager.use(plugin('p'));
  await assert.rejects(manager.use(plugin('p')), /^PluginError: a plugin `p` is registered already; unuse it first$/);
  assert.deepEqual(manager.pluginNames(), ['p']);
});

test('a plugin that registers twice at the same time is registered once', async () => {
  const manager = new PluginManager();
  const both = await Promise.allSettled([manager.use(plugin('p', 'a')), manager.use(plugin('p', 'a'))]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
});

test('tool names do not begin with a digit', async () => {
  await isRefused(plugin('p', '1a'), 'bad-tool', /the plugin `p` cannot be used: clientTools\.1a: the name must begin/);
});

test('tool names have no special characters', async () => {
  for (const name of ['a-b', 'a.b', 'a b']) await isRefused(plugin('p', name), 'bad-tool', /the name must begin/);
});

test('a plugin with a duplicate tool is refused', async () => {
  await isRefused(plugin('p', 'a', 'a'), 'bad-tool', /clientTools\.a: there are two of that name/);
});

test('an executor needs a tool', async () => {
  const orphan = { ...plugin('p', 'a'), executors: { a: () => 1, b: () => 2 } };
  await isRefused(orphan, 'no-tool', /^the plugin `p` has an executor for `b`, but no tool of that name$/);
});

test('a tool needs an executor or a hook', async () => {
  const mute = { name: 'p', version: '1', tools: [definition('a'), definition('toString')] };
  const text = /^the tool `a` of the plugin `p` has no executor, and the plugin has no hook for calls$/;
  await isRefused(mute, 'no-executor', text);
  await isRefused({ ...mute, executors: { a: () => 1 } }, 'no-executor', /the tool `toString`/);
  await quiet().use({ ...mute, hooks: { onToolCall: () => null } });
});

test('a plugin of the wrong shape is refused', async () => {
  await isRefused({ ...plugin('p'), tools: 'a' }, 'bad-plugin', /`tools` is not a list/);
  await isRefused({ ...plugin('p'), executors: [] }, 'bad-plugin', /`executors` is not an object/);
  await isRefused({ ...plugin('p'), hooks: 'x' }, 'bad-plugin', /`hooks` is not an object/);
  await isRefused({ ...plugin('p'), hooks: { onRegister: 1 } }, 'bad-plugin', /the hook `onRegister` is not a function/);
  await isRefused({ ...plugin('p', 'a'), executors: { a: 1 } }, 'bad-plugin', /the executor for `a` is not a function/);
  const hooks = { onToolCall: () => null };
  await isRefused({ name: 'p', version: '1', tools: [null], hooks }, 'bad-tool', /a tool has no name/);
  await isRefused({ name: 'p', version: '1', tools: [{}], hooks }, 'bad-tool', /a tool has no name/);
  const described = [{ ...definition('a'), description: 5 }];
  await isRefused({ name: 'p', version: '1', tools: described, hooks }, 'bad-tool', /description: expected a text/);
});

test('two plugins cannot have the same tool', async () => {
  const manager = new PluginManager();
  await manager.use(plugin('one', 'a'));
  const text = /^PluginError: the tool `a` of the plugin `two` is a tool of the plugin `one` already$/;
  await assert.rejects(manager.use(plugin('two', 'b', 'a')), text);
  assert.deepEqual([manager.pluginNames(), manager.hasExecutor('b')], [['one'], false]);
});

test('tools without a plugin need unique names as well', async () => {
  const manager = new PluginManager().registerTool(tool('a'));
  assert.throws(() => manager.registerTool(tool('a')), /^PluginError: a tool `a` is registered already, by this program$/);
  await assert.rejects(manager.use(plugin('p', 'a')), /a tool `a` is registered already, by this program/);
  await manager.use(plugin('p', 'b'));
  assert.throws(() => manager.registerTool(tool('b')), /a tool `b` is registered already, by the plugin `p`/);
  assert.throws(() => manager.registerTool(undefined as any), /the tool cannot be used: clientTools: expected an object/);
  assert.throws(() => manager.registerTool({ ...tool('c'), execute: 5 as any }), /`execute` is not a function/);
  assert.equal(manager.pluginOf('a'), undefined);
  assert.equal(manager.clientToolDefinitions().length, 2);
});

test('a plugin that fails to register leaves nothing behind', async () => {
  const manager = quiet();
  let kept: PluginTools | undefined;
  const onRegister = (tools: PluginTools) => {
    kept = tools;
    tools.replace([tool('found')]);
    throw new Error('no server');
  };
  const failing = manager.use({ ...plugin('p', 'a'), hooks: { onRegister } });
  await assert.rejects(failing, /^PluginError: the plugin `p` could not be registered: no server$/);
  assert.deepEqual([manager.pluginNames(), manager.clientToolDefinitions()], [[], []]);
  assert.throws(() => kept?.replace([tool('late')]), /no plugin `p` is registered/);
  await manager.use(plugin('p', 'a', 'found'));
});

test('a plugin that sets invalid tools is refused', async () => {
  const manager = quiet().registerTool(tool('mine'));
  const sets = (name: string) => ({
    ...plugin('p'),
    hooks: { onRegister: (own: PluginTools) => own.replace([tool(name)]) },
  });
  await assert.rejects(manager.use(sets('mine')), /could not be registered: a tool `mine` is registered already/);
  await assert.rejects(manager.use(sets('1')), /could not be registered: .*the name must begin/);
  assert.ok(!manager.hasPlugin('p'));
});

test('a plugin that hangs while it registers is refused', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const manager = quiet();
  const hanging = manager.use({ ...plugin('p', 'a'), hooks: { onRegister: () => new Promise(() => {}) } });
  t.mock.timers.tick(120_000);
  await assert.rejects(hanging, /could not be registered: it took longer than 120000 ms/);
  assert.ok(!manager.hasExecutor('a'));
});

test('a time limit beyond the range of a timer is capped', async (t) => {
  const timers = t.mock.method(globalThis, 'setTimeout');
  const manager = new PluginManager({ registerTimeout: Infinity });
  await manager.use({ ...plugin('p'), hooks: { onRegister: () => {} } });
  assert.deepEqual(
    timers.mock.calls.map(({ arguments: [, limit] }) => limit),
    [2 ** 31 - 1],
  );
});

test('tools are not offered before their plugin is registered', async () => {
  const manager = new PluginManager();
  const ready = promise();
  const using = manager.use({ ...plugin('p', 'a'), hooks: { onRegister: () => ready.kept } });
  assert.deepEqual([manager.hasPlugin('p'), manager.clientToolDefinitions()], [false, []]);
  ready.resolve();
  await using;
  assert.ok(manager.hasPlugin('p') && manager.hasExecutor('a'));
});

test('a plugin can change its tools later', async () => {
  const manager = new PluginManager();
  let own!: PluginTools;
  await manager.use({ ...plugin('p', 'a'), hooks: { onRegister: (tools) => void (own = tools) } });
  own.replace([tool('b')]);
  assert.deepEqual(
    manager.clientToolDefinitions().map(({ name }) => name),
    ['b'],
  );
  assert.throws(() => own.replace([tool('c'), tool('1')]), /the name must begin/);
  assert.deepEqual(
    own.get().map(({ name }) => name),
    ['b'],
    'all or none',
  );
});

test('a plugin can be unregistered, and is notified', async () => {
  const manager = new PluginManager();
  const heard: boolean[] = [];
  const hooks = { onUnregister: () => void heard.push(manager.hasExecutor('a')) };
  await manager.use({ ...plugin('p', 'a'), hooks });
  assert.equal(await manager.unuse('p'), manager);
  assert.deepEqual([heard, manager.hasPlugin('p'), manager.clientToolDefinitions()], [[false], false, []]);
  await manager.use(plugin('p', 'a'));
});

test('a plugin that is not registered cannot be unregistered', async () => {
  await assert.rejects(new PluginManager().unuse('p'), /^PluginError: no plugin `p` is registered$/);
});

test('a plugin that fails to unregister is removed nevertheless', async () => {
  const manager = quiet();
  await manager.use({ ...plugin('p', 'a'), hooks: { onUnregister: () => Promise.reject(new Error('stuck')) } });
  const text = /^PluginError: the plugin `p` is not registered any more, but did not end well: stuck$/;
  await assert.rejects(manager.unuse('p'), text);
  assert.ok(!manager.hasPlugin('p') && !manager.hasExecutor('a'));
  await manager.use(plugin('p', 'a'));
});

test('registrations can be chained', async () => {
  const manager = new PluginManager();
  const same = await (await manager.registerTool(tool('x')).use(plugin('b'))).use(plugin('a'));
  assert.equal(same, manager);
  assert.deepEqual(manager.pluginNames(), ['b', 'a'], 'in the order of registration');
});

test('closing unregisters all plugins in reverse order', async () => {
  const manager = quiet();
  const log: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    const onUnregister = () => {
      log.push(name);
      if (name === 'b') throw new Error('stuck');
    };
    await manager.use({ ...plugin(name), hooks: { onUnregister } });
  }
  assert.deepEqual(
    (await manager.close()).map(({ code }) => code),
    ['left'],
  );
  assert.deepEqual([log, manager.pluginNames()], [['c', 'b', 'a'], []]);
});

test('all tools are listed; without plugins the list is empty', async () => {
  const manager = new PluginManager();
  assert.deepEqual(manager.clientToolDefinitions(), []);
  await manager.use(plugin('p', 'a', 'b'));
  assert.deepEqual(manager.clientToolDefinitions(), [definition('a'), definition('b')]);
});

test('a registered definition cannot be changed from outside', async () => {
  const manager = new PluginManager();
  const mine = { ...tool('a'), secret: 'not for the server' };
  manager.registerTool(mine);
  mine.description = 'other';
  mine.parameters['type'] = 'string';
  const [listed] = manager.clientToolDefinitions();
  listed!.name = 'other';
  listed!.parameters['type'] = 'string';
  assert.deepEqual(manager.clientToolDefinitions(), [definition('a')]);
});
