import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson, placeIn } from '../src/ui/json-text';

function wrong(text: string) {
  const parsed = parseJson(text);
  assert.ok(!parsed.ok, `${text} was taken`);
  return `${parsed.at.line}:${parsed.at.column} ${parsed.message}`;
}

test('errors have line, column and reason', () => {
  assert.equal(wrong('{\n  "a": 1,\n}'), '2:9 a trailing comma');
  assert.equal(wrong('{\n  "a" 1\n}'), '2:7 expected a colon after "a", found `1`');
  assert.equal(wrong("{ 'a': 1 }"), "1:3 expected a name in double quotes, found `'`");
  assert.equal(wrong('{"a":1 "b":2}'), '1:8 expected a comma or }, found `"`');
  assert.equal(wrong('[1, tru]'), '1:5 expected a value, found `t`');
  assert.equal(wrong('{"a": "x\n"}'), '1:7 a string that does not end on its line');
  assert.equal(wrong('{"a":1,\n"a":2}'), '2:1 duplicate name "a"');
  assert.equal(wrong('{"a":'), '1:6 expected a value, found the end');
  assert.equal(wrong('  '), '1:3 empty; expected a value');
  assert.equal(wrong('{} x'), '1:4 `x` after the end');
  assert.equal(wrong('"\\q"'), '1:1 an invalid escape sequence');
  assert.match(wrong('['.repeat(500)), /nested deeper than 100$/);
});

test('accepts and refuses the same texts as JSON.parse', () => {
  const fine = [
    '1',
    '-0.5e+3',
    'null',
    '"\\u00e9\\n"',
    '[]',
    '{}',
    '[1,[2,{"a":[true,false,null]}]]',
    ' {"__proto__": 1} ',
    '{"a":"}"}',
    '\r\n[\r\n1\r\n]',
  ];
  for (const text of fine) {
    const parsed = parseJson(text);
    assert.ok(parsed.ok, text);
    assert.deepEqual(parsed.value, JSON.parse(text));
  }
  for (const text of ['01', '1.', '.5', '+1', "'a'", '{a:1}', '[1,]', '[,1]', 'undefined', 'NaN', '"\t"', '// x\n1', '']) {
    assert.throws(() => JSON.parse(text), text);
    assert.ok(!parseJson(text).ok, text);
  }
});

test('finds the line of a path, or of its nearest parent', () => {
  const parsed = parseJson(
    '{\n  "properties": {\n    "x": {\n      "type": "strin"\n    }\n  },\n  "required": [\n    "x",\n    "y"\n  ]\n}',
  );
  assert.ok(parsed.ok);
  const line = (path: string) => placeIn(parsed.places, path)?.line;
  assert.deepEqual(
    ['.properties.x.type', '.required[1]', '.required.0', '.properties.x.items.type', '.nothing', ''].map(line),
    [4, 9, 8, 3, 1, 1],
  );
});
