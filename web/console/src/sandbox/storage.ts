/** The storage of plugins in the browser: bounded, and separate for each plugin, signer and user. */
import type { SandboxStorage } from './run';

const MAX_STORAGE_BYTES = 256 * 1024;
const MAX_STORAGE_KEYS = 256;
const PREFIX = 'toolyard.plugin-data/';

const placeOf = (plugin: string) => `${PREFIX}${plugin}/`;

/** `signer`: the key that signed the plugin; null if it is unsigned. Anyone can choose an id, so the id alone gives no access. */
export function pluginStorage(plugin: string, signer: string | null, user: string, bytes = MAX_STORAGE_BYTES): SandboxStorage {
  const place = `${placeOf(plugin)}${signer ?? 'unsigned'}/${user}`;
  const most = Math.min(bytes, MAX_STORAGE_BYTES);
  const read = () => readAll(localStorage.getItem(place));
  const write = (values: Map<string, string>) => {
    if (values.size === 0) localStorage.removeItem(place);
    else localStorage.setItem(place, JSON.stringify([...values]));
  };
  return {
    get: (key) => read().get(key) ?? null,
    keys: () => [...read().keys()],
    delete(key) {
      const values = read();
      const was = values.delete(key);
      write(values);
      return was;
    },
    set(key, json) {
      const values = read().set(key, json);
      if (values.size > MAX_STORAGE_KEYS) throw new Error(`the storage is full (${MAX_STORAGE_KEYS} keys); delete something first`);
      const size = [...values].reduce((sum, [name, value]) => sum + bytesOf(name) + bytesOf(value), 0);
      if (size > most) throw new Error(`the storage is full (${most} bytes); delete something first`);
      try {
        write(values);
      } catch {
        throw new Error('the storage of this browser is full');
      }
    },
  };
}

/** Deletes all data of a plugin, for every signer and user. */
export function forgetStorage(plugin: string): void {
  for (const name of Object.keys(localStorage)) if (name.startsWith(placeOf(plugin))) localStorage.removeItem(name);
}

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

function readAll(kept: string | null): Map<string, string> {
  try {
    const pairs: unknown = JSON.parse(kept ?? '[]');
    return new Map(Array.isArray(pairs) ? (pairs as [string, string][]) : []);
  } catch {
    return new Map();
  }
}
