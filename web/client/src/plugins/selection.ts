/** Lets the model read the selected text. */

import type { Plugin } from '../plugin/plugin.js';
import { countArgument, onlyArguments } from './arguments.js';
import { pageWindow } from './page.js';
import { CHARS, CHARS_SCHEMA, excerpt } from './text.js';

/** Types of fields whose text may be read. Others, such as password fields, are not read. */
const READABLE = ['text', 'search', 'url', 'tel'];

/** The plugin `selection` with the tool `get_selection`. */
export function selectionPlugin({ window: given }: { window?: Pick<Window, 'document' | 'getSelection'> } = {}): Plugin {
  return {
    name: 'selection',
    version: '1.0.0',
    tools: [
      {
        name: 'get_selection',
        description: 'Reads the text that the user has selected on the page. Empty if nothing is selected.',
        parameters: { type: 'object', properties: { max_chars: CHARS_SCHEMA }, additionalProperties: false },
      },
    ],
    executors: {
      get_selection: (args) => {
        onlyArguments(args, ['max_chars']);
        const most = countArgument(args, 'max_chars', CHARS);
        return excerpt(selected(given ?? pageWindow()), most);
      },
    },
  };
}

function selected(page: Pick<Window, 'document' | 'getSelection'>): string {
  const field = page.document.activeElement;
  if (field && isReadable(field)) {
    const { value, selectionStart: from, selectionEnd: to } = field;
    if (from !== null && to !== null && from < to) return value.slice(from, to);
  }
  return page.getSelection()?.toString() ?? '';
}

/** Checks the tag name and not the class, which differs between windows. */
function isReadable(element: Element): element is HTMLInputElement | HTMLTextAreaElement {
  if (element.tagName === 'TEXTAREA') return true;
  return element.tagName === 'INPUT' && READABLE.includes((element as HTMLInputElement).type);
}
