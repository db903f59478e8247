/** The console's own tools for chats: what the page shows, and what is selected in it. Each can be turned off. */
import { useSyncExternalStore } from 'react';
import { pagePlugin, selectionPlugin, type Plugin } from '@toolyard/client';

const KEY = 'toolyard.page-tools';

export const PAGE_TOOLS = [
  { id: 'page', name: 'This page', about: 'Tells the model the title, address and headings of the page that you see.', make: (): Plugin => pagePlugin() },
  { id: 'selection', name: 'Selected text', about: 'Tells the model the text that you have selected.', make: (): Plugin => selectionPlugin() },
] as const;

const listeners = new Set<() => void>();
let off: ReadonlySet<string> = read();

function read(): ReadonlySet<string> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return new Set(Array.isArray(kept) ? kept.map(String) : []);
  } catch {
    return new Set();
  }
}

/** The ids of those that are off. */
export const pageToolsOff = () => off;

export function setPageTool(id: string, on: boolean): void {
  const next = new Set(off);
  if (on) next.delete(id);
  else next.add(id);
  off = next;
  localStorage.setItem(KEY, JSON.stringify([...off]));
  for (const listener of listeners) listener();
}

export function onPageToolsChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const usePageToolsOff = () => useSyncExternalStore(onPageToolsChange, pageToolsOff);
