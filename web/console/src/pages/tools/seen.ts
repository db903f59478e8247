/** Changes in a user's tools since the last visit: a short hash of each tool is stored in the browser. */
import { stableJson } from '../apps/tools/json';

export type Seen = Record<string, string>;

export interface Changes {
  added: string[];
  changed: string[];
  gone: string[];
}

const MOST = 5_000;
const keyOf = (user: string) => `toolyard.seen-tools.${user}`;

/** Two definitions with the same hash count as equal; a collision does no harm. */
export function hashOf(definition: unknown): string {
  let [one, other] = [0xdeadbeef, 0x41c6ce57];
  for (const sign of stableJson(definition)) {
    const code = sign.codePointAt(0) ?? 0;
    one = Math.imul(one ^ code, 2654435761);
    other = Math.imul(other ^ code, 1597334677);
  }
  return (one >>> 0).toString(16).padStart(8, '0') + (other >>> 0).toString(16).padStart(8, '0');
}

/** `hidden` tools exist but cannot be read: they are neither changed nor removed. */
export function changesSince(seen: Seen, now: Seen, hidden: readonly string[]): Changes {
  const there = new Set([...Object.keys(now), ...hidden]);
  return {
    added: Object.keys(now).filter((name) => !(name in seen)),
    changed: Object.keys(now).filter((name) => name in seen && seen[name] !== '' && seen[name] !== now[name]),
    gone: Object.keys(seen).filter((name) => !there.has(name)),
  };
}

/** What counts as seen from now on: all tools that are there, and for hidden ones the last known hash. */
export function seenNow(before: Seen, now: Seen, hidden: readonly string[]): Seen {
  const kept = hidden.map((name): [string, string] => [name, before[name] ?? '']);
  return Object.fromEntries([...kept, ...Object.entries(now)].slice(0, MOST));
}

export function readSeen(user: string): Seen | undefined {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(user)) ?? 'null');
    if (typeof kept !== 'object' || kept === null) return undefined;
    return Object.fromEntries(Object.entries(kept).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  } catch {
    return undefined;
  }
}

export function writeSeen(user: string, seen: Seen): void {
  try {
    localStorage.setItem(keyOf(user), JSON.stringify(seen));
  } catch {
    // A full storage: then everything is new next time.
  }
}
