/**
 * The plugins of this browser. A stored plugin is not trusted: it is parsed and verified again before it runs, and the hash identifies
 * the content that the user agreed to.
 */
import { useSyncExternalStore } from 'react';
import { forgetStorage } from '../sandbox/storage';
import { readPermissions, writePermissions, type Permissions } from './trust/permissions';
import type { Json } from './trust/strict';

const PLUGINS_KEY = 'toolyard.plugins';
const MAX_INSTALLED = 32;

export interface InstalledPlugin {
  id: string;
  /** The manifest, unchanged. */
  raw: string;
  /** The content that the user agreed to. */
  hash: string;
  enabled: boolean;
  /** The permissions that the user agreed to. */
  agreed: Permissions;
  /** Whether the user allowed it to run although it is unsigned. */
  unsignedAllowed: boolean;
  installedAt: string;
}

const listeners = new Set<() => void>();
let current: readonly InstalledPlugin[] = read();

function read(): readonly InstalledPlugin[] {
  try {
    const kept = JSON.parse(localStorage.getItem(PLUGINS_KEY) ?? 'null') as { plugins?: unknown } | null;
    return Array.isArray(kept?.plugins) ? kept.plugins.flatMap(readOne).slice(0, MAX_INSTALLED) : [];
  } catch {
    return [];
  }
}

function readOne(value: unknown): InstalledPlugin[] {
  const { id, raw, hash, enabled, agreed, unsignedAllowed, installedAt } = (value ?? {}) as Record<string, unknown>;
  if (typeof id !== 'string' || typeof raw !== 'string' || typeof hash !== 'string') return [];
  return [
    {
      ...{ id, raw, hash, enabled: enabled === true, unsignedAllowed: unsignedAllowed === true },
      agreed: readPermissions((agreed ?? {}) as Json, []),
      installedAt: typeof installedAt === 'string' ? installedAt : new Date(0).toISOString(),
    },
  ];
}

function write(next: readonly InstalledPlugin[]): void {
  const plugins = next.map((one) => ({ ...one, agreed: writePermissions(one.agreed) }));
  try {
    localStorage.setItem(PLUGINS_KEY, JSON.stringify({ version: 1, plugins }));
  } catch {
    throw new Error('The storage of this browser is full. Uninstall a plugin or delete conversations.');
  }
  current = next;
  tell();
}

const tell = () => {
  for (const listener of listeners) listener();
};

// Another tab installed or removed something.
window.addEventListener('storage', ({ key }) => {
  if (key !== PLUGINS_KEY && key !== null) return;
  current = read();
  tell();
});

export const installedPlugins = () => current;

export function onInstalledChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useInstalled = () => useSyncExternalStore(onInstalledChange, installedPlugins);

/** Replaces the plugin with the same id, if there is one. */
export function saveInstalled(plugin: InstalledPlugin): void {
  const others = current.filter(({ id }) => id !== plugin.id);
  if (others.length >= MAX_INSTALLED) throw new Error(`There are ${MAX_INSTALLED} plugins already; uninstall one first.`);
  write([...others, plugin]);
}

export function setEnabled(id: string, enabled: boolean): void {
  write(current.map((one) => (one.id === id ? { ...one, enabled } : one)));
}

/** Also deletes its stored data. */
export function uninstall(id: string): void {
  write(current.filter((one) => one.id !== id));
  forgetStorage(id);
}
