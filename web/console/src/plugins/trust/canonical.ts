/**
 * The canonical form of a document, over which signatures and hashes are computed: RFC 8785. Its numbers and strings are those of
 * JavaScript.
 */
import type { Json, JsonObject } from './strict';

export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  // `sort` compares UTF-16 code units, as the RFC requires.
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name] as Json)}`).join(',')}}`;
}

/** Members that are not signed. */
const OUTSIDE_SIGNATURE = ['alg', 'keyId', 'signature'];

/** The part of an object that its signature covers. */
export function covered(document: JsonObject): Uint8Array<ArrayBuffer> {
  const rest = Object.entries(document).filter(([name]) => !OUTSIDE_SIGNATURE.includes(name));
  return bytesOf(canonical(Object.fromEntries(rest)));
}

export const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** SHA-256 in hex. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
