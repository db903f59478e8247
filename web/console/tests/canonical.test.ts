import assert from 'node:assert/strict';
import { createPublicKey, sign } from 'node:crypto';
import { test } from 'node:test';
import { bytesOf, canonical, covered, sha256 } from '../src/plugins/trust/canonical';
import { decodeBase64, readKey, verifies } from '../src/plugins/trust/key';
import { readStrict, type JsonObject } from '../src/plugins/trust/strict';
import { OLDER, RAW_DIGEST, RSA, RSA_SMALL, seeded, spki } from './trust-fixture';

const HASH = 'e9a3277eb624bd2be8dff56add006df6e142ad8e8b68a16dbaba808c19465651';
const written = (text: string) => canonical(readStrict(text));

test('the examples of RFC 8785 are reproduced', () => {
  const text = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false] }`;
  const expected = String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`;
  assert.equal(written(text), expected);
  const names = String.raw`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`;
  assert.equal(written(names), '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}');
});

test('numbers are written as ECMAScript does', () => {
  for (const [text, expected] of [
    ['-0', '0'],
    ['-0.0', '0'],
    ['5e-324', '5e-324'],
    ['1.7976931348623157e308', '1.7976931348623157e+308'],
    ['9007199254740992', '9007199254740992'],
    ['1e23', '1e+23'],
    ['1e21', '1e+21'],
    ['0.0000010', '0.000001'],
    ['333333333.33333325', '333333333.33333325'],
    ['1.0', '1'],
  ] as const) {
    assert.equal(written(text), expected);
  }
});

test('ambiguous JSON is refused', () => {
  for (const text of [
    ...[
      '{"a":1,"a":1}',
      String.raw`{"c":1,"\u0063":2}`,
      '9007199254740993',
      '-9007199254740993',
      '18446744073709551616',
      '1000000000000000000000',
      '1e20',
    ],
    ...[
      '9007199254740994.0',
      '1e400',
      String.raw`"\ud800"`,
      String.raw`{"\udc00":1}`,
      '',
      '{} {}',
      '01',
      '1.',
      '[1,]',
      '{"a":1,}',
      "{'a':1}",
      '"\n"',
      'nul',
      '\ufeff{}',
    ],
    '['.repeat(200) + ']'.repeat(200),
  ]) {
    assert.throws(() => readStrict(text), text.slice(0, 40));
  }
  assert.throws(() => readStrict('{"x":[0,{"b":{"c":1,"c":2}}]}'), { path: 'x[1].b.c' });
  assert.deepEqual(Object.keys(readStrict('{"__proto__":1,"constructor":2}') as JsonObject), ['__proto__', 'constructor']);
  assert.equal(written('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}');
});

test('canonical bytes and hash match the other implementations', async () => {
  const tools = (readStrict(OLDER) as { tools: JsonObject }).tools;
  const text = canonical(tools);
  assert.equal(bytesOf(text).length, 282);
  assert.equal(await sha256(bytesOf(text)), HASH);
  assert.match(text, /"maximum":1e\+21,"minimum":0,"multipleOf":0\.1/);
});

test('an Ed25519 signature over the hash text is verified', async () => {
  const secret = seeded(Uint8Array.from({ length: 32 }, (_, n) => n));
  const signature = 'M9AM3Mjholgh+BNbU1QRTCGJg37TeHNz6+w6x3RhHx26K7aJKKZk8KoxZlOp4Wblc/EcMf6FigPV8GXOhCT4Bw==';
  assert.equal(sign(null, Buffer.from(HASH), secret).toString('base64'), signature);
  const key = await readKey(spki(secret));
  assert.equal(
    createPublicKey(secret).export({ format: 'jwk' }).x,
    Buffer.from('03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8', 'hex').toString('base64url'),
  );
  assert.ok(await verifies(key, bytesOf(HASH), decodeBase64(signature)!));
  assert.ok(!(await verifies(key, bytesOf(`${HASH} `), decodeBase64(signature)!)));
});

test('RSA keys: size, format and signatures are checked', async () => {
  const key = await readKey(RSA);
  assert.equal(key.kind, 'RS256');
  assert.ok(await verifies(key, Uint8Array.from(Buffer.from(HASH, 'hex')), decodeBase64(RAW_DIGEST)!));
  await assert.rejects(readKey(RSA_SMALL), /1024 bits/);
  await assert.rejects(readKey('AAAA'), /SPKI/);
});

test('only canonical base64 is accepted', () => {
  assert.deepEqual([...(decodeBase64('AAE=') ?? [])], [0, 1]);
  for (const text of ['AAE', 'AAF=', '-_==', 'A A=', 'AAE=\n']) assert.equal(decodeBase64(text), null, text);
});

test('a manifest signature covers the expected fields', () => {
  const text =
    '{"version":"1.0.0","tools":[{"executorCode":"return 1;","parameters":{"type":"object"},"name":"one"}],"schemaVersion":1,"publisher":"Example","name":"One","id":"one","x":[1.0,1e3],"alg":"x","keyId":"y","signature":"z"}';
  const expected =
    '{"id":"one","name":"One","publisher":"Example","schemaVersion":1,"tools":[{"executorCode":"return 1;","name":"one","parameters":{"type":"object"}}],"version":"1.0.0","x":[1,1000]}';
  assert.equal(new TextDecoder().decode(covered(readStrict(text) as JsonObject)), expected);
});
