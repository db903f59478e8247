/** The same verdicts as crate `trust`, for the same inputs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asksAgain, compare } from '../src/plugins/trust/compare';
import { hashOf, judge, toolsHashOf, type Status, type Verdict } from '../src/plugins/trust/judge';
import { readManifest, type Manifest } from '../src/plugins/trust/manifest';
import { NO_PERMISSIONS, isEmpty } from '../src/plugins/trust/permissions';
import {
  at,
  entry,
  judged,
  key,
  NOW,
  OLDER,
  plugin,
  publicOf,
  RAW_DIGEST,
  read,
  RSA,
  RSA_OTHER,
  seal,
  signed,
  spki,
  world,
  type Value,
} from './trust-fixture';

function refused(verdict: Verdict, status: Status, why: RegExp): void {
  assert.equal(verdict.status, status, verdict.reason);
  assert.ok(!verdict.runs && isEmpty(verdict.permissions) && verdict.covers === 'nothing');
  assert.match(verdict.reason, why);
}

function changed(manifest: Manifest, change: (value: any) => void): Manifest {
  const value = JSON.parse(manifest.raw) as Value;
  change(value);
  return read(value);
}

const older = () => readManifest(OLDER);
const OTHER_HASH = 'a'.repeat(64);

test('a signed plugin runs with the permissions it requests', async () => {
  const manifest = await signed(plugin(), key(1));
  const verdict = await judged(manifest);
  assert.deepEqual(
    [verdict.status, verdict.by, verdict.owner, verdict.runs, verdict.covers],
    ['signed', (await publicOf(key(1))).id, 'Ada', true, 'everything'],
  );
  assert.deepEqual(verdict.permissions, manifest.permissions);
  assert.equal(verdict.contentHash, await hashOf(read(plugin())), 'signing does not change the content');
  const again = readManifest(JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(manifest.raw)).reverse()), null, 2));
  assert.ok((await judged(again)).runs, 'order and white space do not matter');
});

test('any modification is detected', async () => {
  const manifest = await signed(plugin(), key(1));
  const changes: ((m: any) => void)[] = [
    (m) => (m.id = 'com.example.other'),
    (m) => (m.name = 'Other'),
    (m) => (m.version = '1.2.1'),
    (m) => (m.permissions.network = ['evil.com']),
    (m) => (m.permissions.storage = true),
    (m) => (m.tools[0].executorCode = 'return 1;'),
    (m) => (m.tools[0].parameters.x = 1),
    (m) => (m.unknown.member[0] = 1.25),
    (m) => (m.added = null),
  ];
  for (const change of changes) refused(await judged(changed(manifest, change)), 'modified', /was modified after it was signed/);
  const other = (await seal(plugin(), key(2))).signature;
  refused(await judged(changed(manifest, (m) => (m.signature = other))), 'modified', /the signature is invalid/);
});

test('an unsigned plugin runs only if the user allowed it', async () => {
  const manifest = read(plugin());
  const hash = await hashOf(manifest);
  const allow = (id: string, contentHash: string | null, permissions = manifest.permissions) => ({
    allowed: [{ id, contentHash, permissions }],
  });
  refused(await judged(manifest), 'unsigned', /it is not signed/);
  refused(await judged(manifest, allow('com.example.other', null)), 'unsigned', /it is not signed/);
  refused(await judged(manifest, allow('com.example.time', OTHER_HASH)), 'unsigned', /it is not signed/);
  const verdict = await judged(manifest, allow('com.example.time', hash));
  assert.ok(verdict.runs && verdict.status === 'unsigned' && verdict.covers === 'nothing');
  assert.deepEqual(verdict.permissions, manifest.permissions);
  const less = await judged(manifest, allow('com.example.time', null, { ...NO_PERMISSIONS, network: [], clock: true }));
  assert.deepEqual(less.permissions, { network: [], storage: false, clock: true });
  refused(await judged(await signed(plugin(), key(2)), allow('com.example.time', hash)), 'unknown-key', /no trusted key list/);
});

test('unknown, not yet valid and expired keys are refused', async () => {
  const manifest = await signed(plugin(), key(1));
  refused(await judged(await signed(plugin(), key(2))), 'unknown-key', /no trusted key list/);
  const withKey = async (more: object) =>
    judged(manifest, { keys: { number: 0, expiresAt: null, keys: [await entry(spki(key(1)), 'Ada', more)] } });
  refused(await withKey({ notBefore: NOW + 1 }), 'unknown-key', /not valid before/);
  refused(await withKey({ expiresAt: NOW }), 'expired', /expired at 2026-06-01T00:00:00Z/);
  assert.ok((await withKey({ expiresAt: NOW + 1, notBefore: NOW })).runs);
  const ground = await world();
  refused(await judge(manifest, { ...ground, keys: { ...ground.keys, expiresAt: NOW } }), 'unknown-key', /the key list expired/);
  refused(
    await judge(manifest, { ...ground, revocations: { ...ground.revocations, expiresAt: NOW } }),
    'expired',
    /revocation list expired/,
  );
  const short = await signed({ ...plugin(), expiresAt: '2026-06-01T00:00:00Z' }, key(1));
  refused(await judged(short), 'expired', /the plugin expired/);
  assert.ok((await judged(short, { now: at('2026-05-31') })).runs);
});

test('revoked plugins do not run', async () => {
  const manifest = await signed(plugin(), key(1));
  const revoking = (id: string, contentHash: string | null) => ({
    revocations: { number: 0, expiresAt: null, keys: [], plugins: [{ id, contentHash, reason: 'steals' }] },
  });
  refused(await judged(manifest, revoking('com.example.time', null)), 'revoked', /revoked: steals/);
  refused(await judged(manifest, revoking('x', await hashOf(manifest))), 'revoked', /steals/);
  assert.ok((await judged(manifest, revoking('com.example.time', OTHER_HASH))).runs, 'another version');
  assert.ok((await judged(manifest, revoking('x', null))).runs, 'another plugin');
  refused(await judged(read(plugin()), revoking('com.example.time', null)), 'revoked', /steals/);
  const renamed = changed(older(), (m) => (m.id = 'innocent'));
  refused(await judged(renamed, revoking('dev-time-plugin', await toolsHashOf(older()))), 'revoked', /steals/);
  const lost = { number: 0, expiresAt: null, plugins: [], keys: [{ keyId: (await publicOf(key(1))).id, reason: 'stolen' }] };
  refused(await judged(manifest, { revocations: lost }), 'revoked', /was revoked: stolen/);
  const keys = { number: 0, expiresAt: null, keys: [await entry(spki(key(1)), 'Ada', { revokedAt: NOW })] };
  refused(await judged(manifest, { keys }), 'revoked', /revoked at 2026-06-01/);
  assert.ok((await judged(manifest, { keys, now: at('2026-05-31') })).runs, 'not yet');
  refused(
    await judged(
      changed(manifest, (m) => (m.name = 'Other')),
      { keys },
    ),
    'revoked',
    /was revoked/,
  );
});

test('an installed plugin is pinned', async () => {
  const manifest = await signed(plugin(), key(1));
  const pinned = await hashOf(manifest);
  assert.ok((await judged(manifest, { pinned })).runs);
  refused(await judged(await signed({ ...plugin(), version: '1.3.0' }, key(1)), { pinned }), 'modified', /not what was installed/);
});

test('a plugin in the older format runs without permissions', async () => {
  const asking = changed(older(), (m) => (m.permissions = { network: ['evil.com'], clock: true }));
  const verdict = await judged(asking);
  assert.ok(verdict.runs && isEmpty(verdict.permissions) && verdict.covers === 'tools', verdict.reason);
  assert.match(verdict.reason, /not id, name, version and permissions/);
  assert.ok((await judged(changed(older(), (m) => (m.alg = 'RS256')))).runs);
  const raw = changed(older(), (m) => (m.signature = RAW_DIGEST));
  refused(await judged(raw), 'modified', /the signature is invalid/);
});

test('tools in the older format are hashed again', async () => {
  const other = changed(older(), (m) => (m.tools[0].executorCode = 'return 2;'));
  refused(await judged(other), 'modified', /do not match the signed hash/);
  const hash = await toolsHashOf(other);
  refused(await judged(changed(other, (m) => (m.contentHash = hash))), 'modified', /the signature is invalid/);
  refused(await judged(changed(other, (m) => delete m.contentHash)), 'modified', /the signature is invalid/);
  refused(await judged(changed(older(), (m) => (m.curatorId = 'curator-2'))), 'unknown-key', /curator-2/);
  refused(await judged(changed(older(), (m) => delete m.curatorId)), 'unknown-key', /name the key that signed it/);
});

test('a curator can have several keys and lose one; key types are not mixed', async () => {
  const ground = await world();
  const more = [
    await entry(RSA_OTHER, 'The curators', { curatorId: 'curator-1', revokedAt: NOW }),
    await entry(spki(key(3)), 'The curators', { curatorId: 'curator-1' }),
  ];
  const keys = { ...ground.keys, keys: [...more, ...ground.keys.keys] };
  assert.ok((await judged(older(), { keys })).runs);
  const rsa = (await entry(RSA, 'x')).keyId;
  refused(
    await judged(older(), { keys, revocations: { ...ground.revocations, keys: [{ keyId: rsa, reason: '' }] } }),
    'revoked',
    /was revoked/,
  );
  const manifest = await signed(plugin(), key(1));
  refused(await judged(changed(manifest, (m) => (m.alg = 'RS256'))), 'unknown-key', /no trusted key list/);
  refused(await judged(changed(manifest, (m) => (m.keyId = rsa))), 'unknown-key', /no trusted key list/);
});

test('an update with more permissions asks again, and other changes are reported', async () => {
  const old = await signed(plugin(), key(1));
  const change = async (edit: (m: any) => void, by = key(1)) => {
    const value: any = plugin();
    edit(value);
    return compare(old, await signed(value, by));
  };
  const plain = await change((m) => {
    m.version = '1.10.0';
    m.permissions = { clock: true };
    m.tools[0].name = 'later';
  });
  assert.ok(!asksAgain(plain));
  assert.deepEqual([plain.toolsAdded, plain.toolsRemoved], [['later'], ['now']]);
  const more = await change((m) => (m.permissions = { network: ['api.example.com', 'b.com'], storage: true }));
  assert.deepEqual(more.asksForMore, { network: ['b.com'], storage: true, clock: false });
  assert.ok(asksAgain(more));
  assert.ok((await change((m) => (m.version = '1.2.0-rc.1'))).downgrade);
  assert.ok(!(await change((m) => (m.version = '1.2.0+other'))).downgrade);
  assert.ok((await change((m) => (m.publisher = 'Other'))).publisherChanged);
  assert.ok((await change(() => {}, key(2))).signerChanged);
  assert.ok(compare(old, read(plugin())).signerChanged);
});
