import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newDraft, readDraft, switchView, whyNoForm, writeDraft, type Draft } from '../src/pages/apps/tools/draft';
import type { Json } from '../src/pages/apps/tools/json';
import { besides, newRow, readRows, writeRows } from '../src/pages/apps/tools/parameters';

const TOOL: Json = {
  name: 'add',
  'x-new': { n: 1 },
  description: 'Adds',
  inputSchema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      item: { type: 'string', description: 'What', minLength: 1 },
      due: { type: ['string', 'null'], format: 'date' },
      size: { type: 'integer', enum: [1, 2] },
      tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, maxItems: 3 },
      loud: { type: 'boolean', default: false },
    },
    required: ['size', 'item'],
  },
  annotations: { title: 'kept', destructiveHint: false },
  mentraExtensions: { activationPhrases: { en: ['add'], de: ['neu', 'dazu'] }, category: 'utility', mine: true },
};

test('a tool that nobody changed is written as it came', () => {
  const { definition, problems, rows } = writeDraft(readDraft(TOOL));
  assert.deepEqual({ definition, problems, rows }, { definition: TOOL, problems: [], rows: [] });
  assert.equal(readDraft(TOOL).input.view, 'form');
  const least = { name: 'a', inputSchema: { type: 'object' } };
  assert.equal(JSON.stringify(writeDraft(readDraft(least)).definition), JSON.stringify(least));
});

test('what the form changes is changed, and nothing else', () => {
  const draft = readDraft(TOOL);
  const { definition } = writeDraft({ ...draft, title: 'Add it', hints: { ...draft.hints, destructiveHint: '', readOnlyHint: 'yes' }, byLanguage: false, category: '' });
  assert.deepEqual(definition, {
    ...TOOL,
    title: 'Add it',
    annotations: { title: 'kept', readOnlyHint: true },
    mentraExtensions: { activationPhrases: ['add', 'neu', 'dazu'], mine: true },
  });
});

test('form and schema are two views of the same, back and forth', () => {
  const there = switchView(readDraft(TOOL), 'schema').draft;
  assert.equal(there.input.view, 'schema');
  const back = switchView(there, 'form');
  assert.equal(back.why, undefined);
  assert.equal(back.draft.input.view, 'form');
  assert.deepEqual(writeDraft(back.draft).definition, TOOL);
});

test('a schema that the form cannot show stays a schema, with the reason', () => {
  const why = (schema: unknown) => {
    const read = readRows(schema);
    return 'why' in read ? read.why : undefined;
  };
  const property = (part: unknown) => why({ type: 'object', properties: { x: part } });
  assert.equal(why([]), 'it is not an object');
  assert.equal(why({ type: 'array' }), 'its type is not "object"');
  assert.equal(why({ type: 'object', oneOf: [] }), 'it uses "oneOf"');
  assert.equal(why({ type: 'object', required: ['ghost'] }), '"required" names "ghost", which is no property');
  assert.equal(property({ type: 'object' }), '"x" is an object inside the arguments');
  assert.equal(property({ $ref: '#/$defs/x' }), '"x" uses "$ref"');
  assert.equal(property({ type: 'array' }), '"x" is a list of anything');
  assert.equal(property({ type: ['string', 'number'] }), '"x" has several types');
  assert.equal(property(true), '"x" has no type');
  assert.equal(property({ type: 'string', enum: ['a', 1] }), 'it says more than the form has fields for');
  assert.equal(property({ type: 'string', enum: ['two\nlines'] }), 'the "enum" of "x" has values that do not fit on a line');
  assert.equal(why({ type: 'object', required: [] }), undefined);
  const draft = readDraft({ name: 'a', inputSchema: { type: 'object', anyOf: [] } });
  assert.equal(draft.input.view, 'schema');
  assert.equal(whyNoForm(draft), 'The form cannot show this schema: it uses "anyOf".');
});

test('rows say what is wrong with them, and then the schema is not shown', () => {
  const rows = [newRow(), { ...newRow(), name: 'a' }, { ...newRow(), name: 'a' }, { ...newRow(), name: 'n', type: 'integer' as const, choices: '1\n2.5' }];
  const { problems } = writeRows({ rows, rest: {} });
  assert.deepEqual(problems.map(({ message }) => message), ['Each parameter needs a name.', 'There is another "a".', '"2.5" is no whole number.']);
  const draft: Draft = { ...newDraft('t'), input: { view: 'form', rows, rest: {} } };
  assert.equal(switchView(draft, 'schema').draft, draft);
  assert.ok(writeDraft(draft).problems.length > 0);
});

test('a row keeps what it has no field for, and says so', () => {
  const read = readRows(TOOL.inputSchema);
  assert.ok('rows' in read);
  assert.deepEqual(read.rows.map(besides), [['minLength 1'], ['null is allowed', 'format "date"'], [], ['maxItems 3'], ['default false']]);
});

test('ids and broken JSON are refused where they are typed', () => {
  const of = (draft: Draft) => writeDraft(draft).problems.map(({ message }) => message);
  assert.deepEqual(of(newDraft('')), ['Each tool needs an id.']);
  assert.deepEqual(of(newDraft('a:b')), ['A colon separates package and tool, so an id has none.']);
  assert.deepEqual(of(newDraft('a b')), ['An id has 1 to 128 letters, digits and signs, without spaces.']);
  assert.deepEqual(of({ ...newDraft('a'), input: { view: 'schema', text: '{\n  "type": \n}' } }), ['Line 3, column 1: expected a value, found `}`.']);
  const tagless = { ...newDraft('a'), byLanguage: true, phrases: [{ key: 'k', language: ' ', text: 'hi' }] };
  assert.deepEqual(of(tagless), ['Each phrase needs a language, such as en or de-AT.']);
});
