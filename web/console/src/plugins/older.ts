/** Plugins that an older client left in this browser. They are offered for import as unsigned plugins, and never run without consent. */
const OLDER_KEY = 'hustle_plugins';
const MOST = 50;
const SEEN_KEY = 'toolyard.older-plugins-seen';

export interface OlderPlugin {
  name: string;
  /** The manifest without its signature: code that can write to this storage could also forge it. */
  text: string;
}

export function olderPlugins(): OlderPlugin[] {
  const kept = localStorage.getItem(OLDER_KEY);
  if (kept === null || markOf(kept) === localStorage.getItem(SEEN_KEY)) return [];
  try {
    const list: unknown = JSON.parse(kept);
    return Array.isArray(list) ? list.slice(0, MOST).flatMap(readOne) : [];
  } catch {
    return [];
  }
}

function readOne(value: unknown): OlderPlugin[] {
  if (typeof value !== 'object' || value === null) return [];
  const {
    signature: _,
    contentHash: __,
    curatorId: ___,
    alg: ____,
    keyId: _____,
    enabled: ______,
    ...rest
  } = value as Record<string, unknown>;
  const name = typeof rest.name === 'string' ? rest.name.slice(0, 100) : String(rest.id).slice(0, 64);
  return [{ name, text: JSON.stringify(rest) }];
}

/** Hides the offer until the stored content changes. The plugins stay where they are. */
export function dismissOlder(): void {
  localStorage.setItem(SEEN_KEY, markOf(localStorage.getItem(OLDER_KEY) ?? ''));
}

/** Distinguishes contents; it need not resist collisions. */
function markOf(text: string): string {
  let sum = 0;
  for (let place = 0; place < text.length; place += 1) sum = (sum * 31 + text.charCodeAt(place)) >>> 0;
  return `${text.length}:${sum}`;
}
