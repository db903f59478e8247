/** Decides whether a plugin may run, at install and at every load. The same verdicts as `trust::judge`. */
import { bytesOf, canonical, covered, sha256 } from './canonical';
import { verifies } from './key';
import type { KeyEntry, KeyList, Revocations } from './lists';
import type { Manifest } from './manifest';
import { NO_PERMISSIONS, intersectPermissions, type Permissions } from './permissions';
import type { Json } from './strict';
import { formatTime } from './timestamp';

export type Status = 'signed' | 'unsigned' | 'modified' | 'unknown-key' | 'revoked' | 'expired';

/** An unsigned plugin that the user allowed. */
interface Allowed {
  id: string;
  contentHash: string | null;
  permissions: Permissions;
}

/** The context of a verdict. */
export interface TrustContext {
  keys: KeyList;
  revocations: Revocations;
  allowed: readonly Allowed[];
  /** The installed content, if there is one. */
  pinned: string | null;
  now: number;
}

export interface Verdict {
  status: Status;
  /** The owner and the id of the key, if it is signed. */
  owner: string | null;
  by: string | null;
  runs: boolean;
  /** What its signature covers. */
  covers: 'everything' | 'tools' | 'nothing';
  /** The most permissions that it gets. */
  permissions: Permissions;
  contentHash: string;
  /** The reason, for the user. */
  reason: string;
}

interface Finding {
  status: Status;
  reason: string;
  covers: Verdict['covers'];
  entry?: KeyEntry;
}

const finding = (status: Status, reason: string): Finding => ({ status, reason, covers: 'nothing' });

export const hashOf = (manifest: Manifest) => sha256(covered(manifest.document));
export const toolsHashOf = (manifest: Manifest) => sha256(bytesOf(canonical(manifest.document.tools as Json)));

/** Returns "no" for everything except a valid signature, or an unsigned plugin that the user allowed. */
export async function judge(manifest: Manifest, ground: TrustContext): Promise<Verdict> {
  const contentHash = await hashOf(manifest);
  const { status, reason, covers, entry } = await findStatus(manifest, contentHash, await toolsHashOf(manifest), ground);
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
    verdict.permissions = intersectPermissions(manifest.permissions, allowed.permissions);
    verdict.reason += '; it is on the allow list';
  }
  return verdict;
}

/** The entry for exactly this content takes precedence over one for any content. */
function findAllowed(list: readonly Allowed[], id: string, hash: string): Allowed | undefined {
  const own = list.filter((one) => one.id === id);
  return own.find((one) => one.contentHash === hash) ?? own.find((one) => one.contentHash === null);
}

async function findStatus(manifest: Manifest, hash: string, tools: string, ground: TrustContext): Promise<Finding> {
  const { signature } = manifest;
  const revoked = ground.revocations.plugins.find(({ id, contentHash }) =>
    contentHash === null ? id === manifest.id : [hash, tools].includes(contentHash),
  );
  if (revoked !== undefined) return finding('revoked', withReason('the plugin was revoked', revoked.reason));
  if (ground.pinned !== null && ground.pinned !== hash) return finding('modified', 'this is not what was installed');
  if (signature === null) return finding('unsigned', 'it is not signed');
  if (signature.alg === 'Ed25519') {
    const keys = ground.keys.keys.filter(({ keyId, key }) => keyId === signature.key && key.kind === 'Ed25519').slice(0, 1);
    return inTime(await signedBy(keys, signature.key, covered(manifest.document), signature.bytes, 'everything', ground), manifest, ground);
  }
  if (signature.contentHash !== null && signature.contentHash !== tools)
    return finding('modified', 'the tools do not match the signed hash');
  const name = signature.key ?? '';
  const keys = ground.keys.keys.filter(({ key, curatorId, keyId }) => key.kind === 'RS256' && (curatorId === name || keyId === name));
  // The signature is over the text of the hash, not its bytes.
  return inTime(await signedBy(keys, name, bytesOf(tools), signature.bytes, 'tools', ground), manifest, ground);
}

/** Finds the key that signed the message, and its status. */
async function signedBy(
  keys: readonly KeyEntry[],
  name: string,
  message: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
  covers: 'everything' | 'tools',
  ground: TrustContext,
): Promise<Finding> {
  const { expiresAt } = ground.keys;
  if (expiresAt !== null && expiresAt <= ground.now)
    return finding('unknown-key', `the key list expired at ${formatTime(expiresAt)}; fetch a new one`);
  let calledBack: Finding | null = null;
  for (const entry of keys) {
    const revoked = revokedKey(entry, ground);
    if (await verifies(entry.key, message, signature)) return revoked ?? standing(entry, covers, ground.now);
    calledBack ??= revoked;
  }
  // A revoked key is no evidence of anything, not even of a modification.
  if (calledBack !== null) return calledBack;
  if (keys.length > 0) return finding('modified', 'the signature is invalid: the plugin was modified after it was signed');
  if (name === '') return finding('unknown-key', 'it does not name the key that signed it');
  return finding('unknown-key', `no trusted key list has the key ${name}`);
}

function revokedKey({ keyId, revokedAt }: KeyEntry, ground: TrustContext): Finding | null {
  const revoked = ground.revocations.keys.find((one) => one.keyId === keyId);
  if (revoked !== undefined) return finding('revoked', withReason(`the key ${keyId} was revoked`, revoked.reason));
  if (revokedAt === null || revokedAt > ground.now) return null;
  return finding('revoked', `the key ${keyId} was revoked at ${formatTime(revokedAt)}`);
}

function standing(entry: KeyEntry, covers: 'everything' | 'tools', now: number): Finding {
  const { keyId, owner, notBefore, expiresAt } = entry;
  if (notBefore !== null && now < notBefore) return finding('unknown-key', `the key ${keyId} is not valid before ${formatTime(notBefore)}`);
  if (expiresAt !== null && expiresAt <= now) return finding('expired', `the key ${keyId} expired at ${formatTime(expiresAt)}`);
  const only =
    covers === 'tools' ? '; the signature covers its tools only, not id, name, version and permissions: it gets no permissions' : '';
  return { status: 'signed', covers, entry, reason: `signed by ${owner} with the key ${keyId}${only}` };
}

/** A valid signature may still be expired. */
function inTime(signed: Finding, manifest: Manifest, ground: TrustContext): Finding {
  if (signed.status !== 'signed') return signed;
  const { expiresAt } = manifest;
  if (expiresAt !== null && expiresAt <= ground.now)
    return finding('expired', `the plugin expired at ${formatTime(expiresAt)}; look for a newer version`);
  const listEnd = ground.revocations.expiresAt;
  if (listEnd !== null && listEnd <= ground.now)
    return finding('expired', `the revocation list expired at ${formatTime(listEnd)}; fetch a new one`);
  return signed;
}

const withReason = (what: string, reason: string) => (reason === '' ? what : `${what}: ${reason}`);
