/** The one function that says whether a plugin may run, asked at install and at every load. The same verdicts as `trust::judge`. */
import { bytesOf, canonical, covered, sha256 } from './canonical';
import { verifies } from './key';
import type { KeyEntry, KeyList, Revocations } from './lists';
import type { Manifest } from './manifest';
import { NO_PERMISSIONS, within, type Permissions } from './permissions';
import type { Json } from './strict';
import { tellTime } from './timestamp';

export type Status = 'signed' | 'unsigned' | 'modified' | 'unknown-key' | 'revoked' | 'expired';

/** An unsigned plugin that somebody lets run all the same. */
interface Allowed {
  id: string;
  contentHash: string | null;
  permissions: Permissions;
}

/** What is known when a plugin is judged. */
export interface Ground {
  keys: KeyList;
  revocations: Revocations;
  allowed: readonly Allowed[];
  /** The content that was installed, if it was. */
  pinned: string | null;
  now: number;
}

export interface Verdict {
  status: Status;
  /** Whose key it is and which, where it is signed. */
  owner: string | null;
  by: string | null;
  runs: boolean;
  /** How much its signature vouches for. */
  covers: 'everything' | 'tools' | 'nothing';
  /** The most that it gets. */
  permissions: Permissions;
  contentHash: string;
  /** For people: why. */
  reason: string;
}

interface Found {
  status: Status;
  reason: string;
  covers: Verdict['covers'];
  entry?: KeyEntry;
}

const found = (status: Status, reason: string): Found => ({ status, reason, covers: 'nothing' });

export const hashOf = (manifest: Manifest) => sha256(covered(manifest.document));
export const toolsHashOf = (manifest: Manifest) => sha256(bytesOf(canonical(manifest.document.tools as Json)));

/** Everything but a signature that holds, and an unsigned plugin that somebody allowed, ends with "no". */
export async function judge(manifest: Manifest, ground: Ground): Promise<Verdict> {
  const contentHash = await hashOf(manifest);
  const { status, reason, covers, entry } = await look(manifest, contentHash, await toolsHashOf(manifest), ground);
  const verdict: Verdict = {
    ...{ status, reason, covers, contentHash, runs: false, permissions: { ...NO_PERMISSIONS, network: [] } },
    ...{ owner: entry?.owner ?? null, by: entry?.keyId ?? null },
  };
  if (status === 'signed') {
    verdict.runs = true;
    if (covers === 'everything') verdict.permissions = manifest.permissions;
  }
  const allowed = status === 'unsigned' ? findAllowed(ground.allowed, manifest.id, contentHash) : undefined;
  if (allowed !== undefined) {
    verdict.runs = true;
    verdict.permissions = within(manifest.permissions, allowed.permissions);
    verdict.reason += '; it is on the allow list';
  }
  return verdict;
}

/** The entry for exactly this content before the one for any. */
function findAllowed(list: readonly Allowed[], id: string, hash: string): Allowed | undefined {
  const own = list.filter((one) => one.id === id);
  return own.find((one) => one.contentHash === hash) ?? own.find((one) => one.contentHash === null);
}

async function look(manifest: Manifest, hash: string, tools: string, ground: Ground): Promise<Found> {
  const { signature } = manifest;
  const revoked = ground.revocations.plugins.find(({ id, contentHash }) =>
    contentHash === null ? id === manifest.id : [hash, tools].includes(contentHash),
  );
  if (revoked !== undefined) return found('revoked', withReason('the plugin was revoked', revoked.reason));
  if (ground.pinned !== null && ground.pinned !== hash) return found('modified', 'this is not what was installed');
  if (signature === null) return found('unsigned', 'it is not signed');
  if (signature.alg === 'Ed25519') {
    const keys = ground.keys.keys.filter(({ keyId, key }) => keyId === signature.key && key.kind === 'Ed25519').slice(0, 1);
    return inTime(await signedBy(keys, signature.key, covered(manifest.document), signature.bytes, 'everything', ground), manifest, ground);
  }
  if (signature.contentHash !== null && signature.contentHash !== tools)
    return found('modified', 'the tools do not match the signed hash');
  const name = signature.key ?? '';
  const keys = ground.keys.keys.filter(({ key, curatorId, keyId }) => key.kind === 'RS256' && (curatorId === name || keyId === name));
  // Signed is the text of the hash, not its bytes.
  return inTime(await signedBy(keys, name, bytesOf(tools), signature.bytes, 'tools', ground), manifest, ground);
}

/** Which of these keys signed the message, and what that key is worth. */
async function signedBy(
  keys: readonly KeyEntry[],
  name: string,
  message: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
  covers: 'everything' | 'tools',
  ground: Ground,
): Promise<Found> {
  const { expiresAt } = ground.keys;
  if (expiresAt !== null && expiresAt <= ground.now)
    return found('unknown-key', `the key list expired at ${tellTime(expiresAt)}; fetch a new one`);
  let calledBack: Found | null = null;
  for (const entry of keys) {
    const revoked = revokedKey(entry, ground);
    if (await verifies(entry.key, message, signature)) return revoked ?? standing(entry, covers, ground.now);
    calledBack ??= revoked;
  }
  // A key that was called back says nothing any more, not even that something was changed.
  if (calledBack !== null) return calledBack;
  if (keys.length > 0) return found('modified', 'the signature is invalid: the plugin was modified after it was signed');
  if (name === '') return found('unknown-key', 'it does not name the key that signed it');
  return found('unknown-key', `no trusted key list has the key ${name}`);
}

function revokedKey({ keyId, revokedAt }: KeyEntry, ground: Ground): Found | null {
  const revoked = ground.revocations.keys.find((one) => one.keyId === keyId);
  if (revoked !== undefined) return found('revoked', withReason(`the key ${keyId} was revoked`, revoked.reason));
  if (revokedAt === null || revokedAt > ground.now) return null;
  return found('revoked', `the key ${keyId} was revoked at ${tellTime(revokedAt)}`);
}

function standing(entry: KeyEntry, covers: 'everything' | 'tools', now: number): Found {
  const { keyId, owner, notBefore, expiresAt } = entry;
  if (notBefore !== null && now < notBefore) return found('unknown-key', `the key ${keyId} is not valid before ${tellTime(notBefore)}`);
  if (expiresAt !== null && expiresAt <= now) return found('expired', `the key ${keyId} expired at ${tellTime(expiresAt)}`);
  const only =
    covers === 'tools' ? '; the signature covers its tools only, not id, name, version and permissions: it gets no permissions' : '';
  return { status: 'signed', covers, entry, reason: `signed by ${owner} with the key ${keyId}${only}` };
}

/** A signature that holds may still be too late. */
function inTime(signed: Found, manifest: Manifest, ground: Ground): Found {
  if (signed.status !== 'signed') return signed;
  const { expiresAt } = manifest;
  if (expiresAt !== null && expiresAt <= ground.now)
    return found('expired', `the plugin expired at ${tellTime(expiresAt)}; look for a newer version`);
  const listEnd = ground.revocations.expiresAt;
  if (listEnd !== null && listEnd <= ground.now)
    return found('expired', `the revocation list expired at ${tellTime(listEnd)}; fetch a new one`);
  return signed;
}

const withReason = (what: string, reason: string) => (reason === '' ? what : `${what}: ${reason}`);
