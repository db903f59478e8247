/** Lists of the curators: signed with a pinned root key, numbered, and of one kind each. Parsed like in the crate `trust`. */
import { covered } from './canonical';
import { decodeBase64, readKey, verifies, type PublicKey } from './key';
import { ManifestProblem, formatProblem } from './problem';
import { readStrict, type Json, type JsonObject } from './strict';
import { readTime, formatTime } from './timestamp';

const MAX_LIST_BYTES = 4 * 1024 * 1024;
const MAX_KEYS = 1_000;
const MAX_HANDOVERS = 32;
const MAX_REVOCATIONS = 10_000;
const MAX_OWNER_CHARS = 100;
const MAX_REASON_CHARS = 500;
const KINDS = {
  'toolyard/keys': 'key list',
  'toolyard/revocations': 'revocation list',
  'toolyard/root': 'handover to another root key',
} as const;
type Kind = keyof typeof KINDS;

export interface KeyEntry {
  keyId: string;
  key: PublicKey;
  owner: string;
  curatorId: string | null;
  notBefore: number | null;
  expiresAt: number | null;
  revokedAt: number | null;
}

export interface KeyList {
  number: number;
  expiresAt: number | null;
  keys: KeyEntry[];
}

export interface Revocations {
  number: number;
  expiresAt: number | null;
  plugins: { id: string; contentHash: string | null; reason: string }[];
  keys: { keyId: string; reason: string }[];
}

/** The trusted root, and the numbers of the newest accepted lists. Only documents that the root signed can change it. */
export interface Pin {
  root: PublicKey;
  keysSeen: number;
  revocationsSeen: number;
}

export const NO_KEYS: KeyList = { number: 0, expiresAt: null, keys: [] };
export const NO_REVOCATIONS: Revocations = { number: 0, expiresAt: null, plugins: [], keys: [] };

export class ListError extends Error {
  override name = 'ListError';

  constructor(
    readonly kind: 'too-large' | 'malformed' | 'other-root' | 'modified' | 'replayed' | 'expired',
    message: string,
  ) {
    super(message);
  }
}

/** Accepts a key list and returns the new pin. Follows handovers from root to root; a root that has handed over is not trusted again. */
export async function acceptKeys(pin: Pin, text: string, now: number): Promise<[KeyList, Pin]> {
  const document = parse(text, 'toolyard/keys');
  const signer = signerOf(document, 'toolyard/keys');
  let { root } = pin;
  const handovers = Array.isArray(document.handovers) ? document.handovers.slice(0, MAX_HANDOVERS) : [];
  for (const handover of handovers) {
    if (signer === root.id) break;
    root = (await nextRoot(handover, root)) ?? root;
  }
  await open(document, 'toolyard/keys', root);
  const list = await readKeys(document);
  checkNew(list, pin.keysSeen, now);
  return [list, { ...pin, root, keysSeen: list.number }];
}

/** Accepts a revocation list and returns the new pin. */
export async function acceptRevocations(pin: Pin, text: string, now: number): Promise<[Revocations, Pin]> {
  const document = parse(text, 'toolyard/revocations');
  await open(document, 'toolyard/revocations', pin.root);
  const list = readRevocations(document);
  checkNew(list, pin.revocationsSeen, now);
  return [list, { ...pin, revocationsSeen: list.number }];
}

async function nextRoot(handover: Json, root: PublicKey): Promise<PublicKey | null> {
  try {
    const document = asObject(handover, 'toolyard/root', '');
    await open(document, 'toolyard/root', root);
    textIn(document, 'toolyard/root', 'issuedAt', readTime);
    const next = await readKey(textIn(document, 'toolyard/root', 'root'));
    return next.kind === 'Ed25519' ? next : null;
  } catch {
    return null;
  }
}

function parse(text: string, kind: Kind): JsonObject {
  const size = new TextEncoder().encode(text).length;
  if (size > MAX_LIST_BYTES) throw new ListError('too-large', `the list has ${size} bytes; at most ${MAX_LIST_BYTES}`);
  try {
    return asObject(readStrict(text), kind, '');
  } catch (error) {
    if (error instanceof ManifestProblem) throw malformed(kind, error.path, error.message);
    throw error;
  }
}

function signerOf(document: JsonObject, kind: Kind): string {
  if (document.type !== kind) throw malformed(kind, 'type', `expected \`${kind}\``);
  if (document.alg !== 'Ed25519') throw malformed(kind, 'alg', 'expected Ed25519');
  if (typeof document.keyId !== 'string') throw malformed(kind, 'keyId', 'missing; which key signed it');
  return document.keyId.slice(0, 80);
}

/** Throws unless the root signed it and it is unchanged. */
async function open(document: JsonObject, kind: Kind, root: PublicKey): Promise<void> {
  const id = signerOf(document, kind);
  if (root.kind !== 'Ed25519' || id !== root.id) {
    throw new ListError('other-root', `the list is signed by ${id}, which is not the pinned root key`);
  }
  const signature = typeof document.signature === 'string' ? decodeBase64(document.signature) : null;
  if (signature === null || !(await verifies(root, covered(document), signature))) {
    throw new ListError('modified', 'the signature is invalid: the list was modified after it was signed');
  }
}

async function readKeys(document: JsonObject): Promise<KeyList> {
  const kind = 'toolyard/keys';
  const entries = listIn(document, kind, 'keys', MAX_KEYS, true);
  listIn(document, kind, 'handovers', MAX_HANDOVERS);
  const ids = new Set<string>();
  const keys: KeyEntry[] = [];
  for (const [index, value] of entries.entries()) {
    const place = `keys[${index}].`;
    const entry = asObject(value, kind, `keys[${index}]`);
    const keyId = textIn(entry, kind, 'keyId', undefined, place);
    const key = await readKey(textIn(entry, kind, 'key', undefined, place)).catch((error: Error) => {
      throw malformed(kind, `${place}key`, error.message);
    });
    if (keyId !== key.id) throw malformed(kind, `${place}keyId`, 'is not the id of that key');
    if (ids.has(keyId)) throw malformed(kind, `${place}keyId`, 'the key is listed twice');
    ids.add(keyId);
    const owner = textIn(entry, kind, 'owner', undefined, place);
    const length = [...owner].length;
    if (length === 0 || length > MAX_OWNER_CHARS || /\p{Cc}/u.test(owner))
      throw malformed(kind, `${place}owner`, 'expected one line: the owner of the key');
    const [notBefore, expiresAt, revokedAt] = ['notBefore', 'expiresAt', 'revokedAt'].map((name) => timeIn(entry, kind, name, place)) as [
      number | null,
      number | null,
      number | null,
    ];
    const curatorId = entry.curatorId == null ? null : textIn(entry, kind, 'curatorId', undefined, place);
    keys.push({ keyId, key, owner, curatorId, notBefore, expiresAt, revokedAt });
  }
  return { ...headOf(document, kind), keys };
}

function readRevocations(document: JsonObject): Revocations {
  const kind = 'toolyard/revocations';
  const reasonOf = (entry: JsonObject, place: string) => {
    const reason = entry.reason === undefined ? '' : textIn(entry, kind, 'reason', undefined, place);
    if ([...reason].length > MAX_REASON_CHARS) throw malformed(kind, `${place}reason`, `longer than ${MAX_REASON_CHARS} characters`);
    return reason;
  };
  const plugins = listIn(document, kind, 'plugins', MAX_REVOCATIONS).map((value, index) => {
    const place = `plugins[${index}].`;
    const entry = asObject(value, kind, place);
    const contentHash = entry.contentHash == null ? null : textIn(entry, kind, 'contentHash', undefined, place);
    return { id: textIn(entry, kind, 'id', undefined, place), contentHash, reason: reasonOf(entry, place) };
  });
  const keys = listIn(document, kind, 'keys', MAX_REVOCATIONS).map((value, index) => {
    const place = `keys[${index}].`;
    const entry = asObject(value, kind, place);
    return { keyId: textIn(entry, kind, 'keyId', undefined, place), reason: reasonOf(entry, place) };
  });
  return { ...headOf(document, kind), plugins, keys };
}

function headOf(document: JsonObject, kind: Kind): { number: number; expiresAt: number | null } {
  const { number } = document;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0) throw malformed(kind, 'number', 'expected a number');
  textIn(document, kind, 'issuedAt', readTime);
  return { number, expiresAt: timeIn(document, kind, 'expiresAt', '') };
}

function checkNew({ number, expiresAt }: { number: number; expiresAt: number | null }, seen: number, now: number): void {
  // The same number again is the same list.
  if (number < seen) throw new ListError('replayed', `list number ${number} is older than number ${seen}, which was accepted before`);
  if (expiresAt !== null && expiresAt <= now)
    throw new ListError('expired', `the list expired at ${formatTime(expiresAt)}; fetch a new one`);
}

function malformed(kind: Kind, path: string, message: string): ListError {
  return new ListError('malformed', `not a ${KINDS[kind]}: ${formatProblem({ path, message })}`);
}

function asObject(value: Json, kind: Kind, path: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw malformed(kind, path, 'expected an object');
}

function listIn(document: JsonObject, kind: Kind, name: string, most: number, needed = false): Json[] {
  const value = document[name] ?? (needed ? null : []);
  if (!Array.isArray(value)) throw malformed(kind, name, 'expected a list');
  if (value.length > most) throw malformed(kind, name, `${value.length} entries; at most ${most}`);
  return value;
}

function textIn(members: JsonObject, kind: Kind, name: string, check?: (text: string) => unknown, place = ''): string {
  const value = members[name];
  if (typeof value !== 'string' || check?.(value) === null) throw malformed(kind, `${place}${name}`, 'missing or wrong');
  return value;
}

function timeIn(members: JsonObject, kind: Kind, name: string, place: string): number | null {
  return members[name] == null ? null : readTime(textIn(members, kind, name, readTime, place));
}
