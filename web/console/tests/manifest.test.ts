/** Every rule of manifests, with its place: those of `protocol::plugin::read`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ManifestError, readManifest } from '../src/plugins/trust/manifest';
import {
  allowsHost,
  addedPermissions,
  hostProblem,
  describePermissions,
  isAddress,
  readPermissions,
  intersectPermissions,
} from '../src/plugins/trust/permissions';
import { formatProblem, type Problem } from '../src/plugins/trust/problem';
import type { Json } from '../src/plugins/trust/strict';
import { OLDER, plugin, read, type Value } from './trust-fixture';

const tool = () => ({ name: 'now', description: 'd', parameters: { type: 'object' }, executorCode: 'return 1;' });

function told(change: (manifest: any) => void): string[] {
  const value: any = { ...plugin(), issuedAt: '2026-01-01T00:00:00Z' };
  change(value);
  try {
    read(value as Value);
  } catch (error) {
    return (error as ManifestError).problems.map(formatProblem);
  }
  return [];
}

test('both formats are parsed', () => {
  const older = readManifest(OLDER);
  assert.deepEqual([older.olderForm, older.id, older.signature?.alg, older.publisher], [true, 'dev-time-plugin', 'RS256', null]);
  const own = read(plugin());
  assert.deepEqual([own.olderForm, own.permissions.network, own.signature], [false, ['api.example.com'], null]);
  assert.equal(read({ id: 'a', name: 'A', version: 'one', tools: [tool()] }).version, 'one');
});

test('every violation names its place', () => {
  const cases: [(manifest: any) => void, string][] = [
    [(m) => (m.type = 'toolyard/keys'), 'type: this is a different kind'],
    [(m) => (m.schemaVersion = 2), 'schemaVersion: expected 1'],
    [(m) => (m.publisher = null), 'publisher: missing'],
    [(m) => (m.version = '1.2'), 'version: expected a semantic version'],
    [(m) => (m.id = 'A b'), 'id: `A b` is not a plugin id'],
    [(m) => (m.name = ' '), 'name: expected one line'],
    [(m) => (m.name = 'x'.repeat(101)), 'name: expected one line'],
    [(m) => (m.name = 'a\nb'), 'name: expected one line'],
    [(m) => (m.publisher = 'a\u202eb'), 'publisher: expected one line'],
    [(m) => (m.curatorId = ''), 'curatorId: expected one line'],
    [(m) => (m.description = 'x'.repeat(8193)), 'description: longer'],
    [(m) => (m.homepage = 'javascript:alert(1)'), 'homepage: expected a URL'],
    [(m) => (m.sourceUrl = 'a b'), 'sourceUrl: expected a URL'],
    [(m) => (m.minHostVersion = 'new'), 'minHostVersion: expected a semantic'],
    [(m) => (m.expiresAt = '2026-01-01T00:00:00Z'), 'expiresAt: not after issuedAt'],
    [(m) => (m.issuedAt = 'yesterday'), 'issuedAt: '],
    [(m) => (m.permissions.files = true), 'permissions.files: unknown field'],
    [(m) => (m.permissions.network[0] = 'http://x'), 'permissions.network[0]: `http://x`: write'],
    [(m) => (m.permissions.storage = 'yes'), 'permissions.storage: expected true, false or'],
    [(m) => (m.permissions.clock = 1), 'permissions.clock: expected'],
    [(m) => (m.permissions.network = Array(65).fill('a.b')), 'permissions.network: 65 hosts; at most 64'],
    [(m) => (m.tools = []), 'tools: 0 tools'],
    [(m) => (m.tools = Array(65).fill(tool())), 'tools: 65 tools'],
    [(m) => (m.tools = [tool(), tool()]), 'tools[1].name: an earlier tool has that name'],
    [(m) => (m.tools[0].name = '1a'), 'tools[0]: '],
    [(m) => (m.tools[0].parameters = { type: 'string' }), 'tools[0]: '],
    [(m) => (m.tools[0].parameters.$ref = '#'), 'tools[0]: '],
    [(m) => (m.tools[0].description = 'x'.repeat(8193)), 'tools[0].description: longer'],
    [(m) => (m.tools[0].executorCode = '\n '), 'tools[0].executorCode: empty'],
    [(m) => (m.tools[0].executorCode = 'x'.repeat(256 * 1024 + 1)), 'tools[0].executorCode: longer'],
    [(m) => (m.tools[0].executorCode = 5), 'tools[0]: expected'],
    [(m) => (m.tools[0].annotations = [1]), 'tools[0].annotations: expected an object'],
    [(m) => (m.contentHash = 'E9'), 'contentHash: is not a content hash'],
    [(m) => (m.alg = 'Ed25519'), 'signature: missing although'],
    [(m) => Object.assign(m, { alg: 'Ed25519', keyId: '0123456789abcdef', signature: 'AAAA' }), 'signature: 3 bytes'],
    [(m) => Object.assign(m, { alg: 'none', signature: 'AAAA' }), 'alg: `none`: expected'],
    [(m) => (m.signature = '-_'), 'signature: expected base64'],
  ];
  for (const [change, why] of cases) {
    const problems = told(change);
    assert.ok(problems.length === 1 && problems[0]?.startsWith(why), `${why}: ${JSON.stringify(problems)}`);
  }
  assert.throws(() => readManifest(' '.repeat(1024 * 1024 + 1)), /1048577 bytes/);
  assert.throws(() => readManifest('[]'), /expected an object/);
});

test('hosts are validated', () => {
  for (const good of ['api.example.com', 'localhost', '*.example.com', '127.0.0.1', 'xn--bcher-kva.example', 'a-b.c1'])
    assert.equal(hostProblem(good), null, good);
  for (const bad of [
    'https://a.com',
    'a.com/x',
    'a.com:443',
    '[::1]',
    '*',
    '*.com',
    'a.*.com',
    '*a.b.com',
    '',
    'A.com',
    'a..com',
    'a.com.',
    '-a.com',
    'bücher.example',
    '127.1',
    '0x7f.0.0.1',
    '*.0.0.1',
    '1.2.3.0x4',
    'a'.repeat(64),
  ]) {
    assert.notEqual(hostProblem(bad), null, bad);
  }
  assert.ok(isAddress('127.0.0.1') && !isAddress('localhost') && !isAddress('1.2.3.example'));
  assert.ok(
    allowsHost('*.example.com', 'a.b.example.com') &&
      !allowsHost('*.example.com', 'example.com') &&
      !allowsHost('*.example.com', 'evilexample.com') &&
      !allowsHost('*.example.com', '.example.com'),
  );
});

test('permissions are intersected and compared', () => {
  const asked = (value: Json) => {
    const problems: Problem[] = [];
    const read = readPermissions(value, problems);
    assert.deepEqual(problems, []);
    return read;
  };
  const wide = asked({ network: ['*.a.com', 'b.com', 'c.com'], storage: true, clock: true });
  const less = asked({ network: ['x.a.com', 'b.com', '*.d.com'], storage: { bytes: 9 } });
  assert.deepEqual(intersectPermissions(wide, less), { network: ['b.com', 'x.a.com'], storage: 9, clock: false });
  const before = asked({ network: ['*.a.com'], storage: { bytes: 9 } });
  for (const [now, fresh] of [
    [{ network: ['x.a.com'], storage: { bytes: 9 } }, {}],
    [{ network: ['a.com'] }, { network: ['a.com'] }],
    [{ storage: { bytes: 10 } }, { storage: { bytes: 10 } }],
    [{ storage: true }, { storage: true }],
    [{ storage: { bytes: 0 } }, {}],
    [{ clock: true }, { clock: true }],
  ] as [Json, Json][]) {
    assert.deepEqual(addedPermissions(asked(now), before), asked(fresh));
  }
  assert.deepEqual(describePermissions(wide).length, 5);
});
