/** JSON helpers and error texts. */

/** Longest error text that is passed on, in characters. */
const MAX_WHY = 2000;

/** Whether it is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The length of a text in UTF-8 bytes. */
export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Truncates to a number of characters, without splitting a surrogate pair. */
export function truncateText(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHalf ? most - 1 : most);
}

/** A copy through JSON, as it will be sent. Unlike `structuredClone` it also accepts the proxies of frameworks. */
export function cloneJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The message of anything that was thrown. Does not rely on the class, because errors of another window have another class. */
export function errorMessage(thrown: unknown): string {
  try {
    const { message, name } = Object(thrown) as Partial<Error>;
    const text = typeof message === 'string' ? message || String(name) : String(thrown);
    return truncateText(text, MAX_WHY);
  } catch {
    return 'it failed without a message';
  }
}
