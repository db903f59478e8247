/** Lists that were taken before, read again out of the storage of this browser. */
import { readKey } from './key';
import { acceptKeys, acceptRevocations, NO_KEYS, NO_REVOCATIONS, type KeyList, type Pin, type Revocations } from './lists';

/** Lists that were in time when they were fetched are judged by their own end, not dropped. */
const ANY_TIME = Number.NEGATIVE_INFINITY;
/** A list that was there and cannot be read any more is not the same as none: nothing counts as signed until there is a new one. */
const RUN_OUT = { expiresAt: 0 };

export async function keptKeys(pin: Pin, text: string | null): Promise<KeyList> {
  if (text === null) return NO_KEYS;
  return acceptKeys(pin, text, ANY_TIME).then(
    ([list]) => list,
    () => ({ ...NO_KEYS, ...RUN_OUT }),
  );
}

/** `root`: the key that had signed it when it was taken. A handover since then does not make it void. */
export async function keptRevocations(pin: Pin, text: string | null, root: string): Promise<Revocations> {
  if (text === null) return NO_REVOCATIONS;
  try {
    const [list] = await acceptRevocations({ ...pin, root: await readKey(root) }, text, ANY_TIME);
    return list;
  } catch {
    return { ...NO_REVOCATIONS, ...RUN_OUT };
  }
}
