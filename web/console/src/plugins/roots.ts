/**
 * What this browser trusts: the curators' root key, pinned when it is first seen, and the newest lists that it signed. Both come from the
 * server; new lists must be signed with the pinned root, otherwise the previous lists stay in force.
 */
import { queryOptions } from '@tanstack/react-query';
import { fetchRaw } from '../api/client';
import { getPluginPolicy } from '../api/console';
import { ApiError, errorText } from '../api/error';
import { queryClient } from '../api/queries';
import { readKey, type PublicKey } from './trust/key';
import { storedKeys, storedRevocations } from './trust/stored-lists';
import { acceptKeys, acceptRevocations, ListError, NO_KEYS, NO_REVOCATIONS, type KeyList, type Pin, type Revocations } from './trust/lists';

const ROOT_KEY = 'toolyard.plugin-root';

interface Kept {
  root: string;
  since: string;
  keysSeen: number;
  revocationsSeen: number;
  keys: string | null;
  revocations: string | null;
  /** The root that signed the stored revocations; it may have handed over since. */
  revocationsRoot: string;
}

export interface TrustState {
  keys: KeyList;
  revocations: Revocations;
  /** The pinned root and the time of pinning; null if no server has sent one yet. */
  root: { id: string; since: string } | null;
  /** The server uses another root now, without a handover from the pinned one. */
  otherRoot: { id: string; key: string } | null;
  /** Why the newest lists were rejected. */
  problem: string | null;
}

export const trustQuery = queryOptions({ queryKey: ['plugin-trust'], queryFn: loadTrust, staleTime: 60_000 });
/** At most a minute old, so that plugins that were revoked since the page was opened do not run. */
export const currentTrust = () => queryClient.fetchQuery(trustQuery);

/** The user accepted the new root. It replaces the old one and its lists. */
export async function trustRoot(key: string): Promise<void> {
  const root = await readKey(key);
  keepPin(fresh(root));
  await queryClient.invalidateQueries({ queryKey: trustQuery.queryKey });
}

async function loadTrust(): Promise<TrustState> {
  // Over plain HTTP, browsers have no cryptography.
  if (!globalThis.isSecureContext) throw new Error('Signatures can be verified only over HTTPS or on localhost, so no plugin runs here.');
  let [problem, otherRoot] = [null as string | null, null as TrustState['otherRoot']];
  let kept = readKept();
  const policy = await getPluginPolicy().catch((error: unknown) => {
    // A server without this route does not support plugins.
    if (!(error instanceof ApiError && error.status === 404)) problem = errorText(error);
    return null;
  });
  const served = policy?.rootKey == null ? null : await readKey(policy.rootKey);
  if (kept === null && served !== null) {
    kept = fresh(served);
    keepPin(kept);
  }
  if (kept === null) return { keys: NO_KEYS, revocations: NO_REVOCATIONS, root: null, otherRoot: null, problem };

  let pin: Pin = { root: await readKey(kept.root), keysSeen: kept.keysSeen, revocationsSeen: kept.revocationsSeen };
  let keys = await storedKeys(pin, kept.keys);
  let revocations = await storedRevocations(pin, kept.revocations, kept.revocationsRoot);
  const now = Date.now();
  try {
    const text = policy?.keyListNumber == null ? null : await (await fetchRaw('/api/plugins/keys')).text();
    if (text !== null) {
      [keys, pin] = await acceptKeys(pin, text, now);
      kept = { ...kept, root: pin.root.text, keysSeen: pin.keysSeen, keys: text };
    }
  } catch (error) {
    const isOther = error instanceof ListError && error.kind === 'other-root' && served !== null && served.id !== pin.root.id;
    if (isOther) otherRoot = { id: served.id, key: served.text };
    else problem = `The server's key list was rejected: ${errorText(error)}.`;
  }
  try {
    const text = policy?.revocationsNumber == null || otherRoot !== null ? null : await (await fetchRaw('/api/plugins/revocations')).text();
    if (text !== null) {
      [revocations, pin] = await acceptRevocations(pin, text, now);
      kept = { ...kept, revocationsSeen: pin.revocationsSeen, revocations: text, revocationsRoot: pin.root.text };
    }
  } catch (error) {
    problem ??= `The server's revocation list was rejected: ${errorText(error)}.`;
  }
  keepPin(kept);
  return { keys, revocations, root: { id: pin.root.id, since: kept.since }, otherRoot, problem };
}

const fresh = (root: PublicKey): Kept => ({
  root: root.text,
  since: new Date().toISOString(),
  keysSeen: 0,
  revocationsSeen: 0,
  keys: null,
  revocations: null,
  revocationsRoot: root.text,
});

function keepPin(kept: Kept): void {
  try {
    localStorage.setItem(ROOT_KEY, JSON.stringify(kept));
  } catch {
    // Full: the lists are fetched again next time, and the pin of before stays.
  }
}

function readKept(): Kept | null {
  try {
    const kept = JSON.parse(localStorage.getItem(ROOT_KEY) ?? 'null') as Partial<Kept> | null;
    if (typeof kept?.root !== 'string') return null;
    const { root, since = '', keysSeen = 0, revocationsSeen = 0, keys = null, revocations = null, revocationsRoot = root } = kept;
    return {
      root,
      since,
      keysSeen: Number(keysSeen) || 0,
      revocationsSeen: Number(revocationsSeen) || 0,
      keys,
      revocations,
      revocationsRoot,
    };
  } catch {
    return null;
  }
}
