/** JSON, and the words for what went wrong. */

/** Longest text of a failure that is passed on, in characters. */
const MAX_WHY = 2000;

/** Whether it is an object in the sense of JSON. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How many bytes a text has on the wire. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** At most so many characters, never half of one. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, isHalf ? most - 1 : most);
}

/** A copy by JSON, as it will be sent. Unlike `structuredClone` it also takes what frameworks wrap in proxies. */
export function copyOf<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** What somebody threw, in words. Looks at more than the class: errors of another window are of another class. */
export function why(thrown: unknown): string {
  try {
    const { message, name } = Object(thrown) as Partial<Error>;
    const text = typeof message === 'string' ? message || String(name) : String(thrown);
    return cutText(text, MAX_WHY);
  } catch {
    return 'it failed, and gave no reason';
  }
}
