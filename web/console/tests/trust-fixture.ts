/** Keys, manifests and times for tests of trust: those of crate `trust`. */
import { createPrivateKey, createPublicKey, sign as nodeSign, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { covered } from '../src/plugins/trust/canonical';
import { readKey } from '../src/plugins/trust/key';
import { judge, type TrustContext } from '../src/plugins/trust/judge';
import { NO_REVOCATIONS, type KeyEntry } from '../src/plugins/trust/lists';
import { readManifest, type Manifest } from '../src/plugins/trust/manifest';
import { readStrict, type JsonObject } from '../src/plugins/trust/strict';

const data = (name: string) => readFileSync(`../../crates/trust/tests/data/${name}`, 'utf8');
export const OLDER = data('rs256-plugin.json');
export const RSA = data('rsa2048.pub.pem');
export const RSA_OTHER = data('rsa2048-other.pub.pem');
export const RSA_SMALL = data('rsa1024.pub.pem');
export const RAW_DIGEST = data('rs256-raw-digest.sig').trim();

/** A key by its 32 bytes. */
export function seeded(seed: Uint8Array): KeyObject {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

export const key = (number: number) => seeded(new Uint8Array(32).fill(number));
export const spki = (secret: KeyObject) => createPublicKey(secret).export({ format: 'der', type: 'spki' }).toString('base64');
export const publicOf = (secret: KeyObject) => readKey(spki(secret));

export const at = (day: string) => Date.parse(`${day}T00:00:00Z`);
export const NOW = at('2026-06-01');

export type Value = Record<string, unknown>;

export function plugin(): Value {
  return {
    ...{ schemaVersion: 1, id: 'com.example.time', name: 'Time', version: '1.2.0', publisher: 'Example', description: 'Tells the time' },
    permissions: { network: ['api.example.com'], clock: true },
    tools: [{ name: 'now', description: 'The time', parameters: { type: 'object' }, executorCode: 'return Date.now();' }],
    unknown: { member: [1.5, 'é'] },
  };
}

/** Any document with our signature beside it. */
export async function seal(value: Value, secret: KeyObject): Promise<Value> {
  const { alg: _, keyId: __, signature: ___, ...rest } = value;
  const bytes = covered(readStrict(JSON.stringify(rest)) as JsonObject);
  return { ...rest, alg: 'Ed25519', keyId: (await publicOf(secret)).id, signature: nodeSign(null, bytes, secret).toString('base64') };
}

export const read = (value: Value): Manifest => readManifest(JSON.stringify(value));
export const signed = async (value: Value, secret: KeyObject) => read(await seal(value, secret));

export async function entry(text: string, owner: string, more: Partial<KeyEntry> = {}): Promise<KeyEntry> {
  const one = await readKey(text);
  return { keyId: one.id, key: one, owner, curatorId: null, notBefore: null, expiresAt: null, revokedAt: null, ...more };
}

/** What a client knows: key 1 is believed, nothing was called back, nothing is allowed. */
export async function world(): Promise<TrustContext> {
  const keys = [await entry(spki(key(1)), 'Ada'), await entry(RSA, 'The curators', { curatorId: 'curator-1' })];
  return { keys: { number: 0, expiresAt: null, keys }, revocations: structuredClone(NO_REVOCATIONS), allowed: [], pinned: null, now: NOW };
}

export const judged = async (manifest: Manifest, more: Partial<TrustContext> = {}) => judge(manifest, { ...(await world()), ...more });
