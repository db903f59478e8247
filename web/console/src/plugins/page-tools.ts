/** The console's own tools for chats: what the page shows, and what is selected in it. Each can be turned on and off. */
import { useSyncExternalStore } from 'react';
import { pagePlugin, selectionPlugin, type Plugin } from '@toolyard/client';

const KEY = 'toolyard.page-tools';

export const PAGE_TOOLS = [
  {
    id: 'page',
    name: 'This page',
    about: 'Tells the model the title, address and headings of the chat page while you see it.',
    on: true,
    make: (): Plugin => whileChatting(pagePlugin()),
  },
  {
    id: 'selection',
    name: 'Selected text',
    about: 'Tells the model the text that you have selected in the chat page.',
    on: false,
    make: (): Plugin => whileChatting(selectionPlugin()),
  },
] as const;

/** On other pages and in dialogs there are keys and secrets, which are for the eyes of the user only. */
function whileChatting(plugin: Plugin): Plugin {
  const executors = Object.entries(plugin.executors ?? {}).map(([name, run]) => {
    const guarded: typeof run = (args, context) => {
      if (!/^\/console\/chat\/?$/.test(location.pathname))
        throw new Error('the user looks at another page of the console now; what it shows is not told');
      if (document.querySelector('dialog[open]') !== null) throw new Error('a dialog is open; what it shows is not told');
      return run(args, context);
    };
    return [name, guarded] as const;
  });
  return { ...plugin, executors: Object.fromEntries(executors) };
}

const listeners = new Set<() => void>();
let off: ReadonlySet<string> = read();

function read(): ReadonlySet<string> {
  const chosen = readChosen();
  return new Set(PAGE_TOOLS.filter(({ id, on }) => !(chosen[id] ?? on)).map(({ id }) => id));
}

/** What the user chose: whether each is on. */
function readChosen(): Record<string, unknown> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof kept === 'object' && kept !== null ? (kept as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The ids of those that are off. */
export const pageToolsOff = () => off;

export function setPageTool(id: string, on: boolean): void {
  localStorage.setItem(KEY, JSON.stringify({ ...readChosen(), [id]: on }));
  off = read();
  for (const listener of listeners) listener();
}

export function onPageToolsChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const usePageToolsOff = () => useSyncExternalStore(onPageToolsChange, pageToolsOff);
