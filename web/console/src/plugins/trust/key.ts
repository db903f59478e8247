/** Public keys and signature verification: Ed25519, and RSA PKCS#1 v1.5 with SHA-256 for the older format. */
import { sha256 } from './canonical';

/** The bytes before the 32 bytes of an Ed25519 key in SPKI (RFC 8410). */
const ED25519_SPKI = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;
const MAX_KEY_CHARS = 16 * 1024;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export interface PublicKey {
  /** SPKI in base64. */
  text: string;
  /** The first 16 hex digits of SHA-256 of the SPKI form. */
  id: string;
  kind: 'Ed25519' | 'RS256';
  key: CryptoKey;
}

/** Base64 with `+`, `/` and padding; null if it is invalid. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (!BASE64.test(text)) return null;
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  // Unused bits must be zero, so that each value has exactly one encoding.
  return btoa(String.fromCharCode(...bytes)) === text ? bytes : null;
}

/** Parses a key in SPKI form, in base64 or PEM. */
export async function readKey(given: string): Promise<PublicKey> {
  const pem = /-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----/.exec(given.slice(0, MAX_KEY_CHARS));
  const text = pem?.[1]?.replace(/\s+/g, '') ?? given;
  const spki = text.length <= MAX_KEY_CHARS ? decodeBase64(text) : null;
  if (spki === null) throw new TypeError('not an Ed25519 key, nor an RSA key, in SPKI form');
  const id = (await sha256(spki)).slice(0, 16);
  if (spki.length === ED25519_SPKI.length + 32 && ED25519_SPKI.every((byte, place) => spki[place] === byte)) {
    return { text, id, kind: 'Ed25519', key: await subtle().importKey('spki', spki, 'Ed25519', true, ['verify']) };
  }
  const key = await subtle()
    .importKey('spki', spki, { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, true, ['verify'])
    .catch(() => {
      throw new TypeError('not an Ed25519 key, nor an RSA key, in SPKI form');
    });
  // Each key has one id: the same key in another encoding is rejected.
  const again = new Uint8Array(await subtle().exportKey('spki', key));
  if (again.length !== spki.length || again.some((byte, place) => byte !== spki[place])) throw new TypeError('not an RSA key in SPKI form');
  const bits = (key.algorithm as RsaKeyAlgorithm).modulusLength;
  if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS)
    throw new TypeError(`an RSA key of ${bits} bits; expected ${MIN_RSA_BITS} to ${MAX_RSA_BITS}`);
  return { text, id, kind: 'RS256', key };
}

/** Whether this key signed these bytes. */
export async function verifies(
  { kind, key }: PublicKey,
  message: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  return subtle()
    .verify(kind === 'Ed25519' ? 'Ed25519' : 'RSASSA-PKCS1-v1_5', key, signature, message)
    .catch(() => false);
}

function subtle(): SubtleCrypto {
  const found = (globalThis.crypto as Crypto | undefined)?.subtle;
  if (found === undefined) throw new Error('This page cannot verify signatures: open the console over HTTPS, or on this machine.');
  return found;
}
