import assert from 'node:assert/strict';
import test from 'node:test';

import { PluginManager, type ClientToolLimits } from '@toolyard/client';

import { tool } from './stage.js';

/** What is said of a tool with these parameters, or nothing. */
function told(parameters: unknown, name = 'a', limits: Partial<ClientToolLimits> = {}): string {
  try {
    new PluginManager({ limits }).registerTool({ ...tool(name), parameters: parameters as any });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

const nested = (depth: number): object => (depth === 1 ? { type: 'object' } : { type: 'object', properties: { a: nested(depth - 1) } });

test('schemas within the rules are accepted', () => {
  const schema = {
    type: 'object',
    properties: {
      type: { type: ['string', 'null'], enum: [{ $ref: 'data' }], default: { $ref: 'data' } },
      list: { type: 'array', items: { anyOf: [{ type: 'number' }, true] } },
    },
    required: ['type'],
  };
  assert.equal(told(schema), '');
  assert.equal(told(nested(8)), '');
  assert.equal(told(undefined), '', 'no parameters are an empty object');
  assert.equal(told({ type: 'object' }, 'a'.repeat(64)), '');
  assert.equal(told({ type: 'object' }, 'constructor'), '');
});

test('each violation names the tool and the reason', () => {
  const wide = Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`p${n}`, {}]));
  const loop: any = { type: 'object' };
  loop.self = loop;
  const x = (schema: unknown) => ({ type: 'object', properties: { x: schema } });
  const cases: [unknown, RegExp][] = [
    [{ type: 'string' }, /^the tool cannot be used: clientTools\.a: parameters\.type: expected `object`$/],
    [{}, /parameters\.type: expected `object`/],
    ['object', /parameters: expected a schema/],
    [loop, /parameters: not JSON/],
    [x({ type: 'date' }), /clientTools\.a: parameters\.properties\.x\.type: expected one of string, number/],
    [x({ type: [] }), /x\.type: expected one of/],
    [x({ $ref: '#' }), /x\.\$ref: references are not supported; inline the schema/],
    [x({ $dynamicRef: '#' }), /references/],
    [x({ items: { $recursiveRef: '#' } }), /items\.\$recursiveRef: references/],
    [x(5), /parameters\.properties\.x: expected a schema/],
    [x({ anyOf: {} }), /anyOf: expected a list/],
    [{ type: 'object', properties: [] }, /parameters\.properties: expected an object/],
    [{ type: 'object', properties: wide }, /65 members; at most 64/],
    [{ type: 'object', $defs: wide }, /65 members; at most 64/],
    [nested(9), /deeper than 8 schemas/],
    [{ type: 'object', x: 'ü'.repeat(128 * 1024) }, /have 262\d{3} bytes; at most 262144/],
  ];
  for (const [parameters, wanted] of cases) assert.match(told(parameters), wanted);
});

test('alternatives count as depth', () => {
  const either = Array.from({ length: 8 }).reduce<object>((inside) => ({ oneOf: [inside] }), { type: 'string' });
  assert.match(told({ type: 'object', properties: { x: either } }), /deeper than 8/);
});

test('names begin with a letter and contain only letters, digits and _', () => {
  for (const name of ['', '1a', 'a-b', 'a.b', 'a b', '_a', 'ä', 'a'.repeat(65)]) {
    assert.match(told({ type: 'object' }, name), /the name must begin with a letter/, name);
  }
});

test('at most 64 tools are accepted, of plugins and the program together', async () => {
  const manager = new PluginManager();
  for (let n = 0; n < 63; n += 1) manager.registerTool(tool(`t${n}`));
  const plugin = (...names: string[]) => ({
    name: 'p',
    version: '1',
    tools: names.map((name) => tool(name)),
    hooks: { onToolCall: () => null },
  });
  await assert.rejects(manager.use(plugin('x', 'y')), /the plugin `p` cannot be used: clientTools: 65 tools; at most 64/);
  await manager.use(plugin('x'));
  assert.equal(manager.clientToolDefinitions().length, 64);
});

test('limits of a server can be configured', () => {
  assert.match(told(nested(3), 'a', { depth: 2 }), /deeper than 2/);
  assert.equal(told(nested(9), 'a', { depth: 9 }), '');
});
