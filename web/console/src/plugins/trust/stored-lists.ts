/** Previously accepted lists, read from the storage of this browser. */
import { readKey } from './key';
import { acceptKeys, acceptRevocations, NO_KEYS, NO_REVOCATIONS, type KeyList, type Pin, type Revocations } from './lists';

/** Stored lists are not dropped when they expire; their expiry is evaluated later. */
const ANY_TIME = Number.NEGATIVE_INFINITY;
/** A stored list that can no longer be parsed counts as expired, not as missing: nothing counts as signed until there is a new one. */
const RUN_OUT = { expiresAt: 0 };

export async function storedKeys(pin: Pin, text: string | null): Promise<KeyList> {
  if (text === null) return NO_KEYS;
  return acceptKeys(pin, text, ANY_TIME).then(
    ([list]) => list,
    () => ({ ...NO_KEYS, ...RUN_OUT }),
  );
}

/** `root`: the key that signed it when it was accepted. A later handover does not invalidate it. */
export async function storedRevocations(pin: Pin, text: string | null, root: string): Promise<Revocations> {
  if (text === null) return NO_REVOCATIONS;
  try {
    const [list] = await acceptRevocations({ ...pin, root: await readKey(root) }, text, ANY_TIME);
    return list;
  } catch {
    return { ...NO_REVOCATIONS, ...RUN_OUT };
  }
}
