import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, fieldsOf, typedFrom, type Field, type Typed } from '../src/pages/apps/try/fields';

const SCHEMA = {
  type: 'object',
  $defs: { place: { type: 'object', description: 'Where', properties: { lat: { type: 'number' }, lon: { type: 'number' } }, required: ['lat'] } },
  properties: {
    name: { type: 'string', title: 'Name' },
    unit: { enum: ['m', 5, null] },
    when: { type: ['string', 'null'], format: 'date' },
    loud: { type: 'boolean' },
    count: { type: 'integer' },
    at: { $ref: '#/$defs/place' },
    items: { type: 'array', items: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } },
    free: {},
    map: { type: 'object' },
    either: { oneOf: [{ type: 'string' }] },
    far: { $ref: 'https://example.com/x' },
    lost: { $ref: '#/$defs/nobody' },
  },
  required: ['name', 'items'],
};
const form = fieldsOf(SCHEMA);

function named(name: string): Field {
  assert.ok(form.kind === 'group');
  const found = form.fields.find((field) => field.name === name);
  assert.ok(found !== undefined);
  return found;
}

test('each schema has its field; what no field is for is JSON', () => {
  assert.ok(form.kind === 'group');
  assert.deepEqual(form.fields.map(({ kind }) => kind), ['text', 'choice', 'text', 'boolean', 'number', 'group', 'list', 'json', 'json', 'json', 'json', 'json']);
  assert.deepEqual([named('name').label, named('name').required, named('at').hint], ['Name', true, 'Where']);
});

test('a schema that leads back to itself ends', () => {
  const again = fieldsOf({ type: 'object', properties: { child: { $ref: '#' } } });
  assert.ok(again.kind === 'group');
  const loop = fieldsOf({ type: 'object', $defs: { a: { $ref: '#/$defs/a' } }, properties: { x: { $ref: '#/$defs/a' } } });
  assert.ok(loop.kind === 'group' && loop.fields[0]?.kind === 'json');
});

test('what is typed becomes arguments; what is not typed is not there', () => {
  const typed: Typed = { name: 'x', unit: '1', when: '', loud: 'false', count: ' 3 ', at: { lat: '1.5' }, items: [{ n: '1' }], free: '{"a":1}' };
  const { value, wrong } = collect(form, typed);
  assert.deepEqual(value, { name: 'x', unit: 5, loud: false, count: 3, at: { lat: 1.5 }, items: [{ n: 1 }], free: { a: 1 } });
  assert.deepEqual(wrong, []);
});

test('what is wrong is said at its place', () => {
  const { wrong } = collect(form, { count: '1.5', at: { lon: 'x' }, items: [{}], free: '{' });
  assert.deepEqual(
    wrong.map(({ path, message }) => `${path}: ${message}`),
    [
      'name: This is needed.',
      'count: A whole number is needed.',
      'at.lat: This is needed.',
      'at.lon: A number is needed.',
      'items[0].n: This is needed.',
      'free: Not JSON: line 1, expected a name in double quotes, found the end.',
    ],
  );
});

test('a group that need not be there is asked for only when something is in it', () => {
  assert.deepEqual(collect(form, { name: 'x' }), { value: { name: 'x', items: [] }, wrong: [] });
});

test('arguments come back into the form only where they stay the same', () => {
  const args = { items: [{ n: 2 }], name: 'x', at: { lat: 1 } };
  const typed = typedFrom(form, args);
  assert.ok(typed !== null);
  assert.deepEqual(collect(form, typed).value, args);
  assert.equal(typedFrom(form, { name: 'x', items: [], unknown: 1 }), null);
  assert.equal(typedFrom(form, { name: 5, items: [] }), null);
});
