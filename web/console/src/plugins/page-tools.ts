/** The console's own tools for chats: the content of the page, and the selection. Each can be turned on and off. */
import { useSyncExternalStore } from 'react';
import { pagePlugin, selectionPlugin, type Plugin } from '@toolyard/client';

const KEY = 'toolyard.page-tools';

export const PAGE_TOOLS = [
  {
    id: 'page',
    name: 'This page',
    about: 'Gives the model the title, URL and headings of the chat page while you see it.',
    on: true,
    make: (): Plugin => whileChatting(pagePlugin()),
  },
  {
    id: 'selection',
    name: 'Selected text',
    about: 'Gives the model the text that you have selected in the chat page.',
    on: false,
    make: (): Plugin => whileChatting(selectionPlugin()),
  },
] as const;

/** Other pages and dialogs show keys and secrets, which are for the user only. */
function whileChatting(plugin: Plugin): Plugin {
  const executors = Object.entries(plugin.executors ?? {}).map(([name, run]) => {
    const guarded: typeof run = (args, context) => {
      if (!/^\/console\/chat\/?$/.test(location.pathname))
        throw new Error('the user is on another page of the console, whose content is not shared');
      if (document.querySelector('dialog[open]') !== null) throw new Error('a dialog is open, whose content is not shared');
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

/** The user's choice for each tool. */
function readChosen(): Record<string, unknown> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof kept === 'object' && kept !== null ? (kept as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The ids of the tools that are off. */
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
