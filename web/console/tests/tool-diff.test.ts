import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffLines, diffSets, folded } from '../src/pages/apps/versions/diff';

test('a diff lists added, removed and changed tools with their texts before and after', () => {
  const from = {
    tools: [
      {
        name: 'a',
        description: 'old',
        annotations: { readOnlyHint: true },
        mentraExtensions: { activationPhrases: ['one'] },
        inputSchema: { type: 'object', properties: {} },
      },
      { name: 'gone', description: 'x' },
      { name: 'same', b: 1, a: 2 },
    ],
    prompts: [{ name: 'p', title: 'old' }],
  };
  const to = {
    tools: [
      { name: 'same', a: 2, b: 1 },
      {
        name: 'a',
        description: 'new',
        mentraExtensions: { activationPhrases: { en: ['one'], de: ['eins'] } },
        inputSchema: { properties: {}, type: 'object' },
      },
      { name: 'fresh', title: 'Fresh' },
    ],
    resources: [{ uri: 'x://y' }],
  };
  assert.deepEqual(diffSets(from, to), [
    {
      kind: 'changed',
      what: 'tool',
      name: 'a',
      fields: [
        { field: 'Description', code: false, before: 'old', after: 'new' },
        { field: 'Read-only', code: false, before: 'yes' },
        { field: 'Activation phrases', code: false, before: 'one', after: 'en: one\nde: eins' },
      ],
    },
    { kind: 'removed', what: 'tool', name: 'gone', fields: [{ field: 'Description', code: false, before: 'x' }] },
    { kind: 'added', what: 'tool', name: 'fresh', fields: [{ field: 'Title', code: false, after: 'Fresh' }] },
    { kind: 'removed', what: 'prompt', name: 'p', fields: [{ field: 'Title', code: false, before: 'old' }] },
    { kind: 'added', what: 'resource', name: 'x://y', fields: [] },
  ]);
  assert.deepEqual(diffSets(from, from), []);
});

test('common lines appear once, others as removed and added', () => {
  const told = (before: string, after: string) =>
    diffLines(before, after).map(({ kind, text }) => `${{ same: ' ', before: '-', after: '+' }[kind]}${text}`);
  assert.deepEqual(told('a\nb\nc\nd', 'a\nx\nc\nd\ne'), [' a', '-b', '+x', ' c', ' d', '+e']);
  assert.deepEqual(told('', 'a'), ['-', '+a']);
  assert.deepEqual(told('a', 'a'), [' a']);
});

test('unchanged lines far from a change are left out', () => {
  const lines = (change: string) => [...'abcdefgh', change, ...'ijklm'].join('\n');
  const told = folded(diffLines(lines('x'), lines('y')), 2).map((line) => (line.kind === 'fold' ? `(${line.count})` : line.text));
  assert.deepEqual(told, ['(6)', 'g', 'h', 'x', 'y', 'i', 'j', '(3)']);
});

test('texts too long to compare are shown completely', () => {
  const many = (sign: string) => Array.from({ length: 1_500 }, (_, place) => `${sign}${place}`).join('\n');
  const lines = diffLines(many('a'), many('b'));
  assert.equal(lines.length, 3_000);
  assert.deepEqual([lines[0]?.kind, lines[1_500]?.kind], ['before', 'after']);
});
