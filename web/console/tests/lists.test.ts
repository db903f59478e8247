import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { storedKeys, storedRevocations } from '../src/plugins/trust/stored-lists';
import { acceptKeys, acceptRevocations, type Pin } from '../src/plugins/trust/lists';
import { at, key, NOW, publicOf, RSA, seal, spki, type Value } from './trust-fixture';

const ROOT = key(100);
const day = '2026-06-01T00:00:00Z';

async function keys(number: number, more: Value = {}): Promise<Value> {
  const { id } = await publicOf(key(1));
  return { type: 'toolyard/keys', number, issuedAt: day, keys: [{ keyId: id, key: spki(key(1)), owner: 'Ada' }], ...more };
}
const revocations = (number: number, more: Value = {}): Value => ({
  type: 'toolyard/revocations',
  number,
  issuedAt: day,
  plugins: [{ id: 'a', reason: 'r' }],
  ...more,
});
const handOver = (from: KeyObject, to: KeyObject) => seal({ type: 'toolyard/root', root: spki(to), issuedAt: day }, from);
const text = async (value: Value | Promise<Value>, by = ROOT) => JSON.stringify(await seal(await value, by));
const pin = async (): Promise<Pin> => ({ root: await publicOf(ROOT), keysSeen: 0, revocationsSeen: 0 });
const refusedAs = (kind: string) => (error: unknown) => (error as { kind?: string }).kind === kind;

test('lists signed by the pinned root are accepted', async () => {
  const [list, after] = await acceptKeys(await pin(), await text(keys(7)), NOW);
  assert.deepEqual([list.number, list.keys.length, list.keys[0]?.owner, after.keysSeen], [7, 1, 'Ada', 7]);
  const [back, last] = await acceptRevocations(after, await text(revocations(3)), NOW);
  assert.deepEqual([back.plugins, last.keysSeen, last.revocationsSeen], [[{ id: 'a', contentHash: null, reason: 'r' }], 7, 3]);
});

test('lists of other signers and modified lists are refused', async () => {
  const first = await pin();
  const good = await text(keys(7));
  await assert.rejects(acceptKeys(first, await text(keys(7), key(1)), NOW), refusedAs('other-root'));
  for (const [from, to] of [
    ['"Ada"', '"Eve"'],
    ['"number":7', '"number":8'],
    ['"signature":"', '"signature":"AA'],
  ] as const) {
    await assert.rejects(acceptKeys(first, good.replace(from, to), NOW), refusedAs('modified'), from);
  }
  for (const [from, to] of [
    ['Ed25519', 'none'],
    ['toolyard/keys', 'toolyard/x'],
    ['"alg":"Ed25519","keyId":', '"alg":"Ed25519","k":'],
    ['{', '['],
  ] as const) {
    await assert.rejects(acceptKeys(first, good.replace(from, to), NOW), refusedAs('malformed'), from);
  }
  await assert.rejects(acceptKeys(first, ' '.repeat(4 * 1024 * 1024 + 1), NOW), refusedAs('too-large'));
  await assert.rejects(acceptKeys(first, await text(revocations(1)), NOW), refusedAs('malformed'));
  await assert.rejects(acceptRevocations(first, await text(keys(1)), NOW), refusedAs('malformed'));
});

test('replayed and expired lists are refused', async () => {
  const [, seen] = await acceptKeys(await pin(), await text(keys(7)), NOW);
  await acceptKeys(seen, await text(keys(7)), NOW);
  await assert.rejects(acceptKeys(seen, await text(keys(6)), NOW), refusedAs('replayed'));
  const [, both] = await acceptRevocations(seen, await text(revocations(3)), NOW);
  await assert.rejects(acceptRevocations(both, await text(revocations(2)), NOW), refusedAs('replayed'));
  const late = at('2026-06-02');
  const ending = { expiresAt: '2026-06-02T00:00:00Z' };
  await acceptKeys(await pin(), await text(keys(1, ending)), NOW);
  await assert.rejects(acceptKeys(await pin(), await text(keys(1, ending)), late), refusedAs('expired'));
  await assert.rejects(acceptRevocations(await pin(), await text(revocations(1, ending)), late), refusedAs('expired'));
});

test('a root hands over to the next and is not trusted afterwards', async () => {
  const handovers = [await handOver(ROOT, key(101)), await handOver(key(101), key(102))];
  const [, far] = await acceptKeys(await pin(), await text(keys(5, { handovers }), key(102)), NOW);
  assert.equal(far.root.text, spki(key(102)));
  await assert.rejects(acceptKeys(far, await text(keys(9)), NOW), refusedAs('other-root'));
  await assert.rejects(
    acceptKeys(far, await text(keys(9, { handovers: [await handOver(ROOT, key(66))] }), key(66)), NOW),
    refusedAs('other-root'),
  );
  const [, same] = await acceptKeys(await pin(), await text(keys(2, { handovers: [handovers[0]] })), NOW);
  assert.equal(same.root.text, spki(ROOT), 'told before it is used');
});

test('lists accepted before a handover stay valid; unreadable lists count as expired', async () => {
  const old = await text(revocations(3));
  const [, before] = await acceptRevocations(await pin(), old, NOW);
  const handovers = [await handOver(ROOT, key(101))];
  const list = await text(keys(5, { handovers }), key(101));
  const [, after] = await acceptKeys(before, list, NOW);
  assert.equal((await storedRevocations(after, old, spki(ROOT))).plugins.length, 1);
  assert.equal((await storedKeys(after, list)).keys.length, 1);
  for (const broken of [
    await storedRevocations(after, old, spki(key(101))),
    await storedRevocations(after, old.replace('"r"', '"s"'), spki(ROOT)),
    await storedRevocations(after, old, 'x'),
    await storedKeys(after, 'x'),
  ]) {
    assert.equal(broken.expiresAt, 0);
  }
  assert.deepEqual([(await storedRevocations(after, null, spki(ROOT))).expiresAt, (await storedKeys(after, null)).expiresAt], [null, null]);
});

test('only the pinned root can hand over', async () => {
  const stranger = { handovers: [await handOver(key(66), key(67))] };
  await assert.rejects(acceptKeys(await pin(), await text(keys(2, stranger), key(67)), NOW), refusedAs('other-root'));
  const forged = { handovers: [{ ...(await handOver(ROOT, key(101))), root: spki(key(67)) }] };
  await assert.rejects(acceptKeys(await pin(), await text(keys(2, forged), key(67)), NOW), refusedAs('other-root'));
});

test('all limits are enforced', async () => {
  const first = await pin();
  const { id } = await publicOf(key(1));
  const entry = { keyId: id, key: spki(key(1)), owner: 'Ada' };
  for (const wrong of [
    { keys: [entry, entry] },
    { keys: [{ ...entry, keyId: '0123456789abcdef' }] },
    { keys: [{ ...entry, owner: '' }] },
    { keys: [{ ...entry, owner: 'a\nb' }] },
    { keys: [{ ...entry, owner: 'x'.repeat(101) }] },
    { keys: [{ ...entry, key: 'AAAA' }] },
    { keys: Array.from({ length: 1_001 }, () => entry) },
    { keys: undefined },
    { number: -1 },
    { issuedAt: 'yesterday' },
    { handovers: Array.from({ length: 33 }, () => ({})) },
  ]) {
    await assert.rejects(acceptKeys(first, await text(keys(1, wrong)), NOW), refusedAs('malformed'), JSON.stringify(wrong).slice(0, 80));
  }
  await assert.rejects(
    acceptRevocations(first, await text(revocations(1, { plugins: [{ id: 'a', reason: 'x'.repeat(501) }] })), NOW),
    refusedAs('malformed'),
  );
  const rsa = RSA.replace(/-----[^-]+-----|\s/g, '');
  const toRsa = await seal({ type: 'toolyard/root', root: rsa, issuedAt: day }, ROOT);
  await assert.rejects(acceptKeys(first, await text(keys(2, { handovers: [toRsa] }), key(67)), NOW), refusedAs('other-root'));
});
