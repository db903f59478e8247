/** Gives the model information about the page that the user sees. */

import { truncateText } from '../json.js';
import type { Plugin } from '../plugin/plugin.js';
import { countArgument, onlyArguments, type Count } from './arguments.js';

const HEADINGS: Count = { most: 200, otherwise: 50 };
const MAX_TITLE = 300;
const MAX_URL = 2000;
const MAX_HEADING = 200;

/** What the model learns about a page. */
export interface PageOptions {
  /** Whether to include the query and fragment of the URL. Default: false, because they may contain secrets, such as sign-in codes. */
  query?: boolean;
  /** Replaces the global window. */
  window?: Pick<Window, 'document' | 'location'>;
}

/** The plugin `page` with the tool `get_page_info`. */
export function pagePlugin({ query = false, window: given }: PageOptions = {}): Plugin {
  return {
    name: 'page',
    version: '1.0.0',
    tools: [
      {
        name: 'get_page_info',
        description: 'Returns the page that the user is looking at: its title, URL, language and headings.',
        parameters: {
          type: 'object',
          properties: {
            max_headings: {
              type: 'integer',
              description: `Maximum number of headings. Default: ${HEADINGS.otherwise}.`,
              minimum: 1,
              maximum: HEADINGS.most,
            },
          },
          additionalProperties: false,
        },
      },
    ],
    executors: {
      get_page_info: (args) => {
        onlyArguments(args, ['max_headings']);
        const most = countArgument(args, 'max_headings', HEADINGS);
        const { document, location } = given ?? pageWindow();
        const headings = headingsOf(document);
        return {
          title: truncateText(document.title, MAX_TITLE),
          url: truncateText(urlOf(location, query), MAX_URL),
          language: truncateText(document.documentElement.lang, MAX_HEADING) || null,
          headings: headings.slice(0, most),
          moreHeadings: Math.max(0, headings.length - most),
        };
      },
    },
  };
}

/** The global window, or an error that the model can read. */
export function pageWindow(): Window & typeof globalThis {
  if (typeof window === 'undefined') throw new Error('there is no page: this program does not run in a browser');
  return window;
}

function urlOf({ href }: Location, query: boolean): string {
  const url = new URL(href);
  [url.username, url.password] = ['', ''];
  if (!query) [url.search, url.hash] = ['', ''];
  return url.href;
}

function headingsOf(document: Document): { level: number; text: string }[] {
  const shown = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter(isShown);
  const headings = shown.map(({ tagName, textContent }) => ({
    level: Number(tagName.slice(1)),
    text: truncateText((textContent ?? '').replace(/\s+/g, ' ').trim(), MAX_HEADING),
  }));
  return headings.filter(({ text }) => text !== '');
}

/** Content that the user cannot see is left out. */
function isShown(element: Element): boolean {
  if (element.closest('[hidden], [aria-hidden="true"]')) return false;
  // Older browsers do not support this.
  return element.checkVisibility?.({ visibilityProperty: true }) ?? true;
}
