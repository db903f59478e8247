import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesSince, hashOf, seenNow } from '../src/pages/tools/seen';
import { effects, parametersOf } from '../src/pages/tools/tool';

test('the order of members is not a change, anything else is', () => {
  assert.equal(hashOf({ a: 1, b: { c: 2, d: 3 } }), hashOf({ b: { d: 3, c: 2 }, a: 1 }));
  assert.notEqual(hashOf({ a: 1 }), hashOf({ a: 2 }));
  assert.match(hashOf({}), /^[0-9a-f]{16}$/);
});

test('tools are new, changed or removed; hidden tools are neither', () => {
  const seen = { a: '1', b: '2', off: '3', never: '', gone: '4' };
  assert.deepEqual(changesSince(seen, { a: '1', b: '9', c: '5', never: '7' }, ['off']), { added: ['c'], changed: ['b'], gone: ['gone'] });
});

test('a hidden tool keeps its last known definition', () => {
  const next = seenNow({ off: '3', old: '1' }, { a: '1' }, ['off', 'unknown']);
  assert.deepEqual(next, { off: '3', unknown: '', a: '1' });
  assert.deepEqual(changesSince(next, { a: '1', off: '3', unknown: '8' }, []), { added: [], changed: [], gone: [] });
});

test('parameters and effects are described as text', () => {
  const definition = {
    inputSchema: {
      properties: {
        a: { type: 'string', description: 'A' },
        b: { type: ['integer', 'null'] },
        c: { enum: ['x', 1] },
        d: { type: 'array', items: { type: 'number' } },
        e: true,
      },
      required: ['a'],
    },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  };
  assert.deepEqual(
    parametersOf(definition).map(({ name, type, required }) => `${name}: ${type}${required ? '!' : ''}`),
    ['a: text!', 'b: whole number', 'c: one of x, 1', 'd: list of number', 'e: anything'],
  );
  assert.deepEqual(effects(definition), ['read-only', 'safe to repeat']);
  assert.deepEqual(parametersOf(undefined), []);
});
