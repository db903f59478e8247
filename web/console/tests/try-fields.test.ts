import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  emptyInput,
  collect,
  fieldsOf,
  mayAdd,
  pathsOf,
  inputFromArguments,
  serverProblems,
  type Field,
  type FormInput,
} from '../src/pages/apps/try/fields';

const SCHEMA = {
  type: 'object',
  $defs: {
    place: { type: 'object', description: 'Where', properties: { lat: { type: 'number' }, lon: { type: 'number' } }, required: ['lat'] },
  },
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

test('each schema type has a field; others are edited as JSON', () => {
  assert.ok(form.kind === 'group');
  assert.deepEqual(
    form.fields.map(({ kind }) => kind),
    ['text', 'choice', 'text', 'boolean', 'number', 'group', 'list', 'json', 'json', 'json', 'json', 'json'],
  );
  assert.deepEqual([named('name').label, named('name').required, named('at').hint], ['Name', true, 'Where']);
});

test('a recursive schema terminates', () => {
  const again = fieldsOf({ type: 'object', properties: { child: { $ref: '#' } } });
  assert.ok(again.kind === 'group');
  const loop = fieldsOf({ type: 'object', $defs: { a: { $ref: '#/$defs/a' } }, properties: { x: { $ref: '#/$defs/a' } } });
  assert.ok(loop.kind === 'group' && loop.fields[0]?.kind === 'json');
});

test('typed values become arguments; empty fields are omitted', () => {
  const typed: FormInput = {
    name: 'x',
    unit: '1',
    when: '',
    loud: 'false',
    count: ' 3 ',
    at: { lat: '1.5' },
    items: [{ n: '1' }],
    free: '{"a":1}',
  };
  const { value, wrong } = collect(form, typed);
  assert.deepEqual(value, { name: 'x', unit: 5, loud: false, count: 3, at: { lat: 1.5 }, items: [{ n: 1 }], free: { a: 1 } });
  assert.deepEqual(wrong, []);
});

test('errors appear at their field', () => {
  const { wrong } = collect(form, { count: '1.5', at: { lon: 'x' }, items: [{}], free: '{' });
  assert.deepEqual(
    wrong.map(({ path, message }) => `${path}: ${message}`),
    [
      'name: This field is required.',
      'count: Enter a whole number.',
      'at.lat: This field is required.',
      'at.lon: Enter a number.',
      'items[0].n: This field is required.',
      'free: Not JSON: line 1, expected a name in double quotes, found the end.',
    ],
  );
});

test('an optional group is validated only if it has a value', () => {
  assert.deepEqual(collect(form, { name: 'x' }), { value: { name: 'x', items: [] }, wrong: [] });
});

test('arguments are loaded into the form only if they stay unchanged', () => {
  const args = { items: [{ n: 2 }], name: 'x', at: { lat: 1 } };
  const typed = inputFromArguments(form, args);
  assert.ok(typed !== null);
  assert.deepEqual(collect(form, typed).value, args);
  assert.equal(inputFromArguments(form, { name: 'x', items: [], unknown: 1 }), null);
  assert.equal(inputFromArguments(form, { name: 5, items: [] }), null);
});

const ORDER = fieldsOf({
  type: 'object',
  properties: {
    name: { type: 'string', default: 'Ada', minLength: 2 },
    lines: {
      type: 'array',
      minItems: 1,
      maxItems: 2,
      items: {
        type: 'object',
        properties: { count: { type: 'integer', default: 1, minimum: 1, exclusiveMaximum: 10 }, unit: { enum: ['kg', 'm'], default: 'm' } },
        required: ['count'],
      },
    },
    gift: { type: 'object', properties: { words: { type: 'string', default: 'Enjoy' } } },
    address: { type: 'object', properties: { country: { type: 'string', default: 'DE' } } },
    odd: { type: 'integer', default: 'not a number' },
  },
  required: ['lines', 'address'],
});

test('a form and a new list item start with their defaults', () => {
  const typed = emptyInput(ORDER);
  assert.deepEqual(collect(ORDER, typed).value, { name: 'Ada', lines: [{ count: 1, unit: 'm' }], address: { country: 'DE' } });
  assert.ok(ORDER.kind === 'group');
  const lines = ORDER.fields.find(({ name }) => name === 'lines');
  assert.ok(lines?.kind === 'list');
  assert.deepEqual(emptyInput(lines.item), { count: '1', unit: '1' });
  assert.deepEqual([mayAdd([undefined], lines.limits), mayAdd([undefined, undefined], lines.limits)], [true, false]);
});

test('limits are checked at the field that violates them', () => {
  const typed: FormInput = { name: 'A', lines: [{ count: '0' }, { count: '10' }, { count: '2' }], address: {} };
  assert.deepEqual(
    collect(ORDER, typed).wrong.map(({ path, message }) => `${path}: ${message}`),
    ['name: At least 2 characters.', 'lines[0].count: At least 1.', 'lines[1].count: Less than 10.', 'lines: At most 2 items.'],
  );
  assert.deepEqual(collect(ORDER, { lines: [], address: {} }).wrong, [{ path: 'lines', message: 'At least 1 item.' }]);
});

test('server errors about arguments appear at the fields they name', () => {
  const typed: FormInput = { name: 'A', lines: [{ count: '1' }], address: { country: 'x' } };
  const paths = pathsOf(ORDER, typed);
  assert.deepEqual(paths, [
    'name',
    'lines',
    'lines[0]',
    'lines[0].count',
    'lines[0].unit',
    'gift',
    'gift.words',
    'address',
    'address.country',
    'odd',
  ]);
  const message =
    'The arguments of com.a:order do not fit: lines[0].count: expected 5 or more, got 1; address.country: missing; it is required; other: unknown.';
  assert.deepEqual(serverProblems(message, paths), [
    { path: 'lines[0].count', message: 'expected 5 or more, got 1' },
    { path: 'address.country', message: 'missing; it is required; other: unknown' },
  ]);
  assert.deepEqual(serverProblems('The app said no: name.', paths), []);
});
