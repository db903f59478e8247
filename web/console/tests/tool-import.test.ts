import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readToolFile } from '../src/pages/apps/tools/import';

const read = (value: unknown) => readToolFile(typeof value === 'string' ? value : JSON.stringify(value));
function problems(value: unknown): string[] {
  const answer = read(value);
  assert.ok('problems' in answer);
  return answer.problems.map(({ path, message }) => `${path ?? ''}: ${message}`);
}

test('a tpa_config.json is converted to definitions', () => {
  const answer = read({
    name: 'Notes',
    version: '1',
    settings: [],
    tools: [
      {
        id: 'take_note',
        description: 'Takes a note',
        activationPhrases: 'note, write down ,',
        parameters: {
          _id: '64f',
          text: { type: 'string', description: 'The note', required: true },
          level: { type: 'number', description: '', enum: ['1', '2', '2'] },
          loud: { type: 'boolean', required: false },
        },
      },
      { id: 'list', description: 'Lists' },
    ],
  });
  assert.ok('file' in answer);
  assert.deepEqual(answer.file, {
    form: 'tpa-config',
    leftOut: ['name', 'version', 'settings'],
    tools: [
      {
        name: 'take_note',
        description: 'Takes a note',
        inputSchema: {
          type: 'object',
          properties: {
            text: { type: 'string', description: 'The note' },
            level: { type: 'number', enum: [1, 2] },
            loud: { type: 'boolean' },
          },
          required: ['text'],
        },
        mentraExtensions: { activationPhrases: ['note', 'write down'] },
      },
      { name: 'list', description: 'Lists', inputSchema: { type: 'object', properties: {} } },
    ],
  });
});

test('definitions are unchanged; a bare list is the format of an older console', () => {
  const definition = { name: 'a', inputSchema: { type: 'object', x: 1 }, other: [1] };
  const answer = read({ tools: [definition] });
  assert.ok('file' in answer);
  assert.deepEqual([answer.file.form, answer.file.tools], ['definitions', [definition]]);
  const list = read([{ id: 'a', description: 'b' }]);
  assert.ok('file' in list);
  assert.equal(list.file.form, 'console');
});

test('all errors are reported at once', () => {
  assert.deepEqual(problems('{\n  "tools": [}'), [': Not JSON: line 2, column 13: expected a value, found `}`.']);
  assert.deepEqual(problems({}), ['tools: expected a list of tools, or an object with `tools`']);
  assert.deepEqual(problems({ tools: Array.from({ length: 1_001 }, () => 0) }), ['tools: 1001 tools; at most 1000']);
  assert.deepEqual(
    problems([
      7,
      { id: 3, description: ' ', parameters: [] },
      { id: 'x', description: 'd', parameters: { a: { type: 'object' }, b: 1, c: { type: 'number', enum: ['one'], required: 'yes' } } },
      { id: 'x', description: 'd' },
    ]),
    [
      'tools[0]: expected an object, found a number',
      'tools[1].parameters: expected an object of parameters by name, found a list',
      'tools[1].id: expected a text, found a number',
      'tools[1].description: missing; expected a text',
      'tools[2].parameters.a.type: expected string, number or boolean, found `object`',
      'tools[2].parameters.b: expected an object, found a number',
      'tools[2].parameters.c.required: expected true or false, found a text',
      'tools[2].parameters.c.enum: "one" is not a number',
      'tools[3].id: `x` is already the id of tools[2]',
    ],
  );
});
