/** A text for the model, no longer than was asked for. */

import { cutText } from '../json.js';
import type { JsonSchema } from '../tool/definition.js';
import type { Count } from './arguments.js';

/** How much of a text is handed out. */
export const CHARS: Count = { most: 20_000, otherwise: 4000 };

/** The argument that says so. */
export const CHARS_SCHEMA: JsonSchema = {
  type: 'integer',
  description: `Most characters of the text, ${CHARS.otherwise} unless said otherwise.`,
  minimum: 1,
  maximum: CHARS.most,
};

/** What is handed out. */
export interface Excerpt {
  text: string;
  /** How long the whole text is. */
  characters: number;
  /** Whether some of it is missing. */
  cut: boolean;
}

/** The beginning of a text. */
export function excerpt(whole: string, most: number): Excerpt {
  return { text: cutText(whole, most), characters: whole.length, cut: whole.length > most };
}
