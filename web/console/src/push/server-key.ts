/** The public key of the server, which a browser binds its subscription to. */

/** The bytes of a text in base64url. */
export function decodeKey(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Whether a subscription was made with this key. The push service accepts no messages that are signed with another one. */
export function isSameKey(used: ArrayBuffer | null, publicKey: string): boolean {
  if (used === null) return false;
  const [one, other] = [new Uint8Array(used), decodeKey(publicKey)];
  return one.length === other.length && one.every((byte, place) => byte === other[place]);
}
