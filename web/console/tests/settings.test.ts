import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings, parseValue, formatValue, valuesOf, type Setting } from '../src/pages/settings/setting-values';
import { tokenState } from '../src/pages/settings/token-state';
import { bodyOf, draftOf, NEW } from '../src/pages/settings/upstream-draft';

const one = (fields: object) => readSettings([{ key: 'k', label: 'L', ...fields }])[0] as Setting;

test('app settings are converted to fields and back to values', () => {
  for (const [fields, field, value] of [
    [{ type: 'toggle', value: true }, 'true', true],
    [{ type: 'text', value: 'x' }, 'x', 'x'],
    [{ type: 'slider', value: 3, min: 0, max: 5 }, '3', 3],
    [{ type: 'select', value: 'b', options: [{ value: 'a', label: 'A' }, 'b'] }, 'b', 'b'],
    [{ type: 'multiselect', value: ['a', 'b'], options: ['a', 'b', 'c'] }, 'a\nb', ['a', 'b']],
    [{ type: 'select', value: 2, options: [{ value: 1 }, { value: 2 }] }, '2', 2],
    [{ type: 'multiselect', value: [2, 9], options: [{ value: 1 }, { value: 2 }] }, '2\n9', [2, 9]],
    [{ type: 'moon_phase', value: { full: true } }, '{"full":true}', { full: true }],
  ] as const) {
    const setting = one(fields);
    assert.equal(formatValue(setting), field);
    assert.deepEqual(parseValue(setting, field), { value });
  }
  assert.deepEqual(readSettings([{ type: 'group', title: 'Sound' }, { type: 'titleValue', label: 'Version' }, null, {}, 7]), [
    { words: 'Sound' },
    { words: 'Version' },
  ]);
});

test('unedited values are sent back unchanged, and defaults are not stored', () => {
  const settings = readSettings([
    { key: 'loud', type: 'toggle', value: 'yes', defaultValue: false },
    { key: 'lines', type: 'text', value: 5 },
    { key: 'order', type: 'select', value: 1, defaultValue: 1, options: [{ value: 1 }, { value: 2 }] },
    { key: 'unset', type: 'select', options: ['a'] },
  ]) as Setting[];
  assert.deepEqual(valuesOf(settings, new Map()), { values: { loud: 'yes', lines: 5 }, errors: new Map() });
  assert.deepEqual(
    valuesOf(
      settings,
      new Map([
        ['order', '2'],
        ['lines', ''],
      ]),
    ).values,
    { loud: 'yes', lines: '', order: 2 },
  );
  const slider = [one({ type: 'slider', value: 3, max: 5 })];
  assert.deepEqual(valuesOf(slider, new Map([['k', '9']])), { values: {}, errors: new Map([['k', 'At most 5.']]) });
  assert.deepEqual(valuesOf(slider, new Map([['k', '']])).values, {});
});

test('a value out of range shows an error, and an empty one keeps the default', () => {
  const slider = one({ type: 'slider', min: 1, max: 5 });
  assert.deepEqual(
    [parseValue(slider, '9'), parseValue(slider, '0'), parseValue(slider, 'x'), parseValue(slider, ' ')],
    [{ error: 'At most 5.' }, { error: 'At least 1.' }, { error: 'Enter a number.' }, { value: undefined }],
  );
  assert.deepEqual(parseValue(one({ type: 'moon_phase' }), '{'), { error: 'Enter valid JSON.' });
});

test('an upstream is unchanged by the form', () => {
  const details = {
    name: 'GitHub',
    description: '',
    url: 'https://x/mcp',
    auth: 'headers' as const,
    headers: { Authorization: '(sealed)', 'X-A': 'b: c' },
    include: ['get_*'],
    exclude: [],
    forAll: true,
  };
  assert.deepEqual(bodyOf(draftOf('github', details), false), { body: details });
  const program = {
    name: '',
    description: '',
    command: 'npx',
    args: ['-y', 'a b'],
    env: { KEY: 'x=y' },
    include: [],
    exclude: [],
    forAll: false,
  };
  assert.deepEqual(bodyOf(draftOf('files', program), false), { body: program });
});

test('errors of an upstream appear at their field', () => {
  const wrong = (draft: object) => {
    const read = bodyOf({ ...NEW, id: 'a', url: 'https://x', ...draft }, true);
    return 'wrong' in read ? Object.keys(read.wrong) : [];
  };
  assert.deepEqual(wrong({}), []);
  assert.deepEqual(wrong({ id: 'A B' }), ['id']);
  assert.deepEqual(wrong({ url: 'ftp://x' }), ['url']);
  assert.deepEqual(wrong({ headers: 'nothing' }), ['headers']);
  assert.deepEqual(wrong({ kind: 'command' }), ['command']);
  assert.deepEqual(wrong({ kind: 'command', command: 'x', env: 'A' }), ['env']);
});

test('a token is valid until it expires or is revoked', () => {
  const now = Date.parse('2026-01-02T00:00:00Z');
  assert.equal(tokenState({ expiresAt: '2026-01-03T00:00:00Z' }, now), 'good');
  assert.equal(tokenState({ expiresAt: '2026-01-02T00:00:00Z' }, now), 'ended');
  assert.equal(tokenState({ expiresAt: '2026-01-03T00:00:00Z', revokedAt: '2026-01-01T00:00:00Z' }, now), 'revoked');
});
