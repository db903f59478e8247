import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

/** As much of a browser as is needed: what is kept are its own members. */
const kept: Record<string, string> = {};
const methods = {
  getItem: (key: string) => kept[key] ?? null,
  setItem: (key: string, value: string) => void (kept[key] = value),
  removeItem: (key: string) => void delete kept[key],
};
const localStorage = new Proxy(kept, { get: (_, name) => methods[name as keyof typeof methods] ?? kept[String(name)] });
Object.assign(globalThis, { localStorage });
const { forgetStorage, pluginStorage } = await import('../src/sandbox/storage');

beforeEach(() => {
  for (const key of Object.keys(kept)) delete kept[key];
});

test('data belongs to a plugin, its signer and a user', () => {
  pluginStorage('a', 'key1', 'ada').set('x', '1');
  assert.equal(pluginStorage('a', 'key1', 'ada').get('x'), '1');
  for (const [plugin, signer, user] of [
    ['a', 'key2', 'ada'],
    ['a', null, 'ada'],
    ['a', 'key1', 'bob'],
    ['b', 'key1', 'ada'],
  ] as const) {
    assert.equal(pluginStorage(plugin, signer, user).get('x'), null, `${plugin} ${signer} ${user}`);
  }
});

test('data of unsigned plugins is separate, and uninstalling a plugin deletes all of its data', () => {
  for (const signer of ['key1', 'key2', null]) pluginStorage('a', signer, 'ada').set('x', '1');
  pluginStorage('ab', null, 'ada').set('x', '2');
  assert.equal(Object.keys(kept).length, 4);
  forgetStorage('a');
  assert.deepEqual(Object.keys(kept), ['toolyard.plugin-data/ab/unsigned/ada']);
});
