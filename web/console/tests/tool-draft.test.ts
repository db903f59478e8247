import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newDraft, readDraft, switchView, formProblem, writeDraft, type ToolDraft } from '../src/pages/apps/tools/draft';
import type { Json } from '../src/pages/apps/tools/json';
import {
  describeExtras,
  haveSameOrder,
  moveRow,
  newRow,
  readRows,
  writeRows,
  type Row,
  type RowProblem,
} from '../src/pages/apps/tools/parameters';

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

test('an unchanged tool is saved unchanged', () => {
  const { definition, problems, rows } = writeDraft(readDraft(TOOL));
  assert.deepEqual({ definition, problems, rows }, { definition: TOOL, problems: [], rows: [] });
  assert.equal(readDraft(TOOL).input.view, 'form');
  const least = { name: 'a', inputSchema: { type: 'object' } };
  assert.equal(JSON.stringify(writeDraft(readDraft(least)).definition), JSON.stringify(least));
});

test('only fields edited in the form change', () => {
  const draft = readDraft(TOOL);
  const { definition } = writeDraft({
    ...draft,
    title: 'Add it',
    hints: { ...draft.hints, destructiveHint: '', readOnlyHint: 'yes' },
    byLanguage: false,
    category: '',
  });
  assert.deepEqual(definition, {
    ...TOOL,
    title: 'Add it',
    annotations: { title: 'kept', readOnlyHint: true },
    mentraExtensions: { activationPhrases: ['add', 'neu', 'dazu'], mine: true },
  });
});

test('form and schema convert to each other and back', () => {
  const there = switchView(readDraft(TOOL), 'schema').draft;
  assert.equal(there.input.view, 'schema');
  const back = switchView(there, 'form');
  assert.equal(back.why, undefined);
  assert.equal(back.draft.input.view, 'form');
  assert.deepEqual(writeDraft(back.draft).definition, TOOL);
});

test('a schema that the form cannot show stays a schema and shows the reason', () => {
  const why = (schema: unknown) => {
    const read = readRows(schema);
    return 'why' in read ? read.why : undefined;
  };
  const property = (part: unknown) => why({ type: 'object', properties: { x: part } });
  assert.equal(why([]), 'it is not an object');
  assert.equal(why({ type: 'array' }), 'its type is not "object"');
  assert.equal(why({ type: 'object', oneOf: [] }), 'it uses "oneOf"');
  assert.equal(why({ type: 'object', required: ['ghost'] }), '"required" names "ghost", which is not a property');
  assert.equal(property({ type: 'object' }), undefined);
  assert.equal(property({ type: 'object', properties: { y: { oneOf: [] } } }), '"x.y" uses "oneOf"');
  assert.equal(property({ type: 'array', items: { type: 'object', properties: { y: {} } } }), '"x[].y" has no type');
  assert.equal(property({ type: 'array', items: { type: 'array' } }), '"x" is a list of a type that the form does not support');
  assert.equal(property({ type: 'object', required: ['ghost'] }), '"x": "required" names "ghost", which is not a property');
  assert.equal(property({ $ref: '#/$defs/x' }), '"x" uses "$ref"');
  assert.equal(property({ type: 'array' }), '"x" is a list of anything');
  assert.equal(property({ type: ['string', 'number'] }), '"x" has several types');
  assert.equal(property(true), '"x" has no type');
  assert.equal(property({ type: 'string', enum: ['a', 1] }), 'it uses keywords that the form does not support');
  assert.equal(property({ type: 'string', enum: ['two\nlines'] }), 'the "enum" of "x" has values that do not fit on a line');
  assert.equal(why({ type: 'object', required: [] }), undefined);
  const draft = readDraft({ name: 'a', inputSchema: { type: 'object', anyOf: [] } });
  assert.equal(draft.input.view, 'schema');
  assert.equal(formProblem(draft), 'The form cannot show this schema: it uses "anyOf".');
});

test('rows show their errors, and the schema is not shown then', () => {
  const rows = [
    newRow(),
    { ...newRow(), name: 'a' },
    { ...newRow(), name: 'a' },
    { ...newRow(), name: 'n', type: 'integer' as const, choices: '1\n2.5' },
  ];
  const { problems } = writeRows({ rows, rest: {} });
  assert.deepEqual(
    problems.map(({ message }) => message),
    ['Each parameter needs a name.', '"a" is used twice.', '"2.5" is not a whole number.'],
  );
  const draft: ToolDraft = { ...newDraft('t'), input: { view: 'form', rows, rest: {} } };
  assert.equal(switchView(draft, 'schema').draft, draft);
  assert.ok(writeDraft(draft).problems.length > 0);
});

test('a row keeps keywords without a field, and lists them', () => {
  const read = readRows(TOOL.inputSchema);
  assert.ok('rows' in read);
  assert.deepEqual(read.rows.map(describeExtras), [['minLength 1'], ['null is allowed', 'format "date"'], [], ['maxItems 3'], []]);
});

test('invalid ids and JSON are refused at their field', () => {
  const of = (draft: ToolDraft) => writeDraft(draft).problems.map(({ message }) => message);
  assert.deepEqual(of(newDraft('')), ['Each tool needs an id.']);
  assert.deepEqual(of(newDraft('a:b')), ['An id cannot contain a colon, which separates package and tool.']);
  assert.deepEqual(of(newDraft('a b')), ['An id has 1 to 128 letters, digits and symbols, without spaces.']);
  assert.deepEqual(of({ ...newDraft('a'), input: { view: 'schema', text: '{\n  "type": \n}' } }), [
    'Line 3, column 1: expected a value, found `}`.',
  ]);
  const tagless = { ...newDraft('a'), byLanguage: true, phrases: [{ key: 'k', language: ' ', text: 'hi' }] };
  assert.deepEqual(of(tagless), ['Each phrase needs a language, such as en or de-AT.']);
});

const NESTED: Json = {
  type: 'object',
  properties: {
    address: {
      type: 'object',
      description: 'Where to',
      additionalProperties: false,
      properties: {
        street: { type: 'string', default: 'Main St' },
        geo: { type: ['object', 'null'], properties: { lat: { type: 'number', minimum: -90 } }, required: ['lat'] },
      },
      required: ['street'],
    },
    lines: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: { count: { type: 'integer', default: 1, enum: [1, 2] }, gift: { type: 'boolean', default: false } },
        required: ['count'],
      },
    },
    flags: { type: 'array', items: { type: 'boolean' } },
    free: { type: 'object' },
    empty: { type: 'object', properties: {}, required: [] },
  },
  required: ['lines'],
};

test('objects and lists of objects have nested rows and are saved unchanged', () => {
  const read = readRows(NESTED);
  assert.ok('rows' in read);
  assert.deepEqual(
    read.rows.map(({ name, type, required, rows }) => [
      name,
      type,
      required,
      rows.map((row) => `${row.name} ${row.type}${row.preset === '' ? '' : ` = ${row.preset}`}`),
    ]),
    [
      ['address', 'object', false, ['street string = Main St', 'geo object']],
      ['lines', 'object[]', true, ['count integer = 1', 'gift boolean = false']],
      ['flags', 'boolean[]', false, []],
      ['free', 'object', false, []],
      ['empty', 'object', false, []],
    ],
  );
  const tool = { name: 'order', inputSchema: NESTED };
  assert.equal(JSON.stringify(writeDraft(readDraft(tool)).definition), JSON.stringify(tool), 'to the letter where nothing changed');
});

test('changes inside an object are saved there, and errors appear at their row', () => {
  const read = readRows(NESTED);
  assert.ok('rows' in read);
  const [address, lines, ...others] = read.rows as [Row, Row, ...Row[]];
  const added: Row = { ...newRow(), name: 'city', required: true };
  const { schema, problems } = writeRows({ ...read, rows: [{ ...address, rows: [...address.rows, added] }, lines, ...others] });
  assert.deepEqual(problems, []);
  const inner = (schema.properties as Json).address as Json;
  assert.deepEqual(
    [Object.keys(inner.properties as Json), inner.required, inner.additionalProperties],
    [['street', 'geo', 'city'], ['street', 'city'], false],
  );
  const [count] = lines.rows as [Row];
  for (const [row, field, message] of [
    [{ ...count, name: '' }, 'name', 'Each parameter needs a name.'],
    [{ ...count, preset: '7' }, 'preset', '"7" is not among the values.'],
    [{ ...count, preset: 'x', choices: '' }, 'preset', '"x" is not a whole number.'],
    [{ ...count, choices: 'one' }, 'choices', '"one" is not a whole number.'],
  ] as const) {
    const wrong: RowProblem[] = writeRows({ ...read, rows: [{ ...lines, rows: [row as Row] }] }).problems;
    assert.deepEqual(
      wrong.filter((one) => one.field === field),
      [{ key: count.key, field, message }],
    );
  }
});

test('rows can be moved, and the order changes the schema', () => {
  assert.deepEqual(
    [moveRow(['a', 'b', 'c'], 0, 1), moveRow(['a', 'b', 'c'], 2, 0), moveRow(['a'], 0, 0)],
    [['b', 'a', 'c'], ['c', 'a', 'b'], ['a']],
  );
  const draft = readDraft({ name: 'order', inputSchema: NESTED });
  assert.ok(draft.input.view === 'form');
  const turned = writeDraft({ ...draft, input: { ...draft.input, rows: moveRow(draft.input.rows, 0, 1) } }).definition.inputSchema;
  assert.deepEqual(Object.keys((turned as Json).properties as Json).slice(0, 2), ['lines', 'address']);
  assert.ok(!haveSameOrder(turned, NESTED) && haveSameOrder(NESTED, structuredClone(NESTED)));
});

test('objects nested too deeply for the form stay a schema', () => {
  let schema: Json = { type: 'object', properties: { x: { type: 'string' } } };
  for (let depth = 0; depth < 6; depth += 1) schema = { type: 'object', properties: { in: schema } };
  assert.ok('rows' in readRows(schema));
  const deeper = readRows({ type: 'object', properties: { in: schema } });
  assert.ok('why' in deeper && /nested deeper/.test(deeper.why));
});
