/** Lets the model read and write the clipboard, if the browser and the user allow it. */

import { errorMessage } from '../json.js';
import type { Plugin } from '../plugin/plugin.js';
import { countArgument, onlyArguments, textArgument } from './arguments.js';
import { pageWindow } from './page.js';
import { CHARS, CHARS_SCHEMA, excerpt } from './text.js';

/** Longest text that can be written, in characters. */
const MAX_WRITTEN = 100_000;

type Act = 'read' | 'write';
/** The parts of the browser that are needed. */
type Place = Partial<Pick<Navigator, 'clipboard' | 'permissions'>>;

/** The plugin `clipboard` with the tools `read_clipboard` and `copy_to_clipboard`. */
export function clipboardPlugin({ navigator: given }: { navigator?: Place } = {}): Plugin {
  const place = (): Place => given ?? pageWindow().navigator;
  return {
    name: 'clipboard',
    version: '1.0.0',
    tools: [
      {
        name: 'read_clipboard',
        description: "Reads the text in the user's clipboard. The browser may ask the user first.",
        parameters: { type: 'object', properties: { max_chars: CHARS_SCHEMA }, additionalProperties: false },
      },
      {
        name: 'copy_to_clipboard',
        description: "Replaces the content of the user's clipboard with a text.",
        parameters: {
          type: 'object',
          properties: { text: { type: 'string', description: 'The text.', minLength: 1, maxLength: MAX_WRITTEN } },
          required: ['text'],
          additionalProperties: false,
        },
      },
    ],
    executors: {
      read_clipboard: async (args) => {
        onlyArguments(args, ['max_chars']);
        const most = countArgument(args, 'max_chars', CHARS);
        return excerpt(await allowed('read', place(), (clipboard) => clipboard.readText()), most);
      },
      copy_to_clipboard: async (args) => {
        onlyArguments(args, ['text']);
        const text = textArgument(args, 'text', MAX_WRITTEN);
        await allowed('write', place(), (clipboard) => clipboard.writeText(text));
        return { characters: text.length };
      },
    },
  };
}

/** Uses the clipboard if the page has the permission. If the user has not decided yet, the browser asks. */
async function allowed<T>(act: Act, { clipboard, permissions }: Place, use: (clipboard: Clipboard) => Promise<T>): Promise<T> {
  if (typeof clipboard?.[`${act}Text`] !== 'function') {
    throw new Error(`this page cannot ${act} the clipboard: it needs HTTPS and a browser that supports it`);
  }
  if ((await permission(act, permissions)) === 'denied') {
    throw new Error(`this page may not ${act} the clipboard: the user or the browser denied it`);
  }
  try {
    return await use(clipboard);
  } catch (error) {
    if ((error as DOMException).name !== 'NotAllowedError') throw error;
    const text = `this page may not ${act} the clipboard: the user denied it, or the page is not focused (${errorMessage(error)})`;
    throw new Error(text, { cause: error });
  }
}

async function permission(act: Act, permissions: Permissions | undefined): Promise<PermissionState> {
  try {
    // Not every browser supports these names, and TypeScript has no types for them.
    const asked = { name: `clipboard-${act}` } as unknown as PermissionDescriptor;
    return (await permissions?.query(asked))?.state ?? 'prompt';
  } catch {
    return 'prompt';
  }
}
