/**
 * Whom this browser believes: the root key of the curators, pinned when it is first seen, and the newest lists that the root
 * signed. The server tells both; what it tells has to be signed by the pinned root, else the lists of before stay in force.
 */
import { queryOptions } from '@tanstack/react-query';
import { plain } from '../api/client';
import { getPluginPolicy } from '../api/console';
import { Refused, told } from '../api/error';
import { queryClient } from '../api/queries';
import { readKey, type PublicKey } from './trust/key';
import { keptKeys, keptRevocations } from './trust/kept';
import { acceptKeys, acceptRevocations, ListError, NO_KEYS, NO_REVOCATIONS, type KeyList, type Pin, type Revocations } from './trust/lists';

const ROOT_KEY = 'toolyard.plugin-root';

interface Kept {
  root: string;
  since: string;
  keysSeen: number;
  revocationsSeen: number;
  keys: string | null;
  revocations: string | null;
  /** The root that signed the kept revocations: it may have handed over since. */
  revocationsRoot: string;
}

export interface Trust {
  keys: KeyList;
  revocations: Revocations;
  /** The pinned root and since when; null where no server told one yet. */
  root: { id: string; since: string } | null;
  /** The server names another root now, and nothing leads there from the pinned one. */
  otherRoot: { id: string; key: string } | null;
  /** Why the newest lists were not taken, in words. */
  problem: string | null;
}

export const trustQuery = queryOptions({ queryKey: ['plugin-trust'], queryFn: loadTrust, staleTime: 60_000 });
/** At most a minute old: what was called back since the page was opened does not run. */
export const currentTrust = () => queryClient.fetchQuery(trustQuery);

/** The user looked at the new root and believes it from now on, with nothing of before. */
export async function believe(key: string): Promise<void> {
  const root = await readKey(key);
  keepPin(fresh(root));
  await queryClient.invalidateQueries({ queryKey: trustQuery.queryKey });
}

async function loadTrust(): Promise<Trust> {
  // Over plain http browsers have no cryptography.
  if (!globalThis.isSecureContext) throw new Error('Signatures can be checked over https or on localhost only, so no plugin runs here.');
  let [problem, otherRoot] = [null as string | null, null as Trust['otherRoot']];
  let kept = readKept();
  const policy = await getPluginPolicy().catch((error: unknown) => {
    // A server without this route knows nothing of plugins.
    if (!(error instanceof Refused && error.status === 404)) problem = told(error);
    return null;
  });
  const served = policy?.rootKey == null ? null : await readKey(policy.rootKey);
  if (kept === null && served !== null) {
    kept = fresh(served);
    keepPin(kept);
  }
  if (kept === null) return { keys: NO_KEYS, revocations: NO_REVOCATIONS, root: null, otherRoot: null, problem };

  let pin: Pin = { root: await readKey(kept.root), keysSeen: kept.keysSeen, revocationsSeen: kept.revocationsSeen };
  let keys = await keptKeys(pin, kept.keys);
  let revocations = await keptRevocations(pin, kept.revocations, kept.revocationsRoot);
  const now = Date.now();
  try {
    const text = policy?.keyListNumber == null ? null : await (await plain('/api/plugins/keys')).text();
    if (text !== null) {
      [keys, pin] = await acceptKeys(pin, text, now);
      kept = { ...kept, root: pin.root.text, keysSeen: pin.keysSeen, keys: text };
    }
  } catch (error) {
    const isOther = error instanceof ListError && error.kind === 'other-root' && served !== null && served.id !== pin.root.id;
    if (isOther) otherRoot = { id: served.id, key: served.text };
    else problem = `The key list of the server was not taken: ${told(error)}.`;
  }
  try {
    const text = policy?.revocationsNumber == null || otherRoot !== null ? null : await (await plain('/api/plugins/revocations')).text();
    if (text !== null) {
      [revocations, pin] = await acceptRevocations(pin, text, now);
      kept = { ...kept, revocationsSeen: pin.revocationsSeen, revocations: text, revocationsRoot: pin.root.text };
    }
  } catch (error) {
    problem ??= `The revocation list of the server was not taken: ${told(error)}.`;
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
