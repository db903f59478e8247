/** The vectors that crate `trust` writes: both sides must come to the same canonical forms and verdicts. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { bytesOf, canonical, sha256 } from '../src/plugins/trust/canonical';
import { judge } from '../src/plugins/trust/judge';
import { NO_REVOCATIONS } from '../src/plugins/trust/lists';
import { readManifest } from '../src/plugins/trust/manifest';
import { readPermissions } from '../src/plugins/trust/permissions';
import { readStrict, type Json } from '../src/plugins/trust/strict';
import { entry } from './trust-fixture';

interface KeyVector {
  key: string;
  owner: string;
  curatorId?: string;
  notBefore?: string;
  expiresAt?: string;
  revokedAt?: string;
}

interface VerdictVector {
  name: string;
  manifest: string;
  context: {
    keys: KeyVector[];
    keysExpireAt: string | null;
    allowed: { id: string; contentHash?: string; permissions?: Json }[];
    now: string;
  };
  verdict: { status: string; by?: string; owner?: string; runs: boolean; covers: string; permissions: Json; contentHash: string };
}

interface Vectors {
  canonical: { text: string; canonical: string | null; hash?: string }[];
  verdicts: VerdictVector[];
}

const vectors = JSON.parse(readFileSync('../../contract/trust-vectors.json', 'utf8')) as Vectors;
const time = (text: string | null | undefined) => (text == null ? null : Date.parse(text));
const permissions = (value: Json | undefined) => readPermissions(value, []);

test('canonical forms and hashes match the vectors', async () => {
  assert.ok(vectors.canonical.length > 10);
  for (const { text, canonical: expected, hash } of vectors.canonical) {
    if (expected === null) {
      assert.throws(() => canonical(readStrict(text)), `${text} has no canonical form`);
      continue;
    }
    const written = canonical(readStrict(text));
    assert.equal(written, expected, text);
    assert.equal(await sha256(bytesOf(written)), hash, text);
  }
});

test('verdicts match the vectors', async () => {
  assert.ok(vectors.verdicts.length > 10);
  for (const { name, manifest, context, verdict: expected } of vectors.verdicts) {
    const keys = await Promise.all(
      context.keys.map(({ key, owner, curatorId, notBefore, expiresAt, revokedAt }) =>
        entry(key, owner, {
          curatorId: curatorId ?? null,
          notBefore: time(notBefore),
          expiresAt: time(expiresAt),
          revokedAt: time(revokedAt),
        }),
      ),
    );
    const verdict = await judge(readManifest(manifest), {
      keys: { number: 0, expiresAt: time(context.keysExpireAt), keys },
      revocations: structuredClone(NO_REVOCATIONS),
      allowed: context.allowed.map((one) => ({
        id: one.id,
        contentHash: one.contentHash ?? null,
        permissions: permissions(one.permissions),
      })),
      pinned: null,
      now: Date.parse(context.now),
    });
    assert.deepEqual(
      [verdict.status, verdict.by ?? null, verdict.owner ?? null, verdict.runs, verdict.covers, verdict.contentHash, verdict.permissions],
      [
        expected.status,
        expected.by ?? null,
        expected.owner ?? null,
        expected.runs,
        expected.covers,
        expected.contentHash,
        permissions(expected.permissions),
      ],
      name,
    );
  }
});
