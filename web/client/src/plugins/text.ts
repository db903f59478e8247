/** Truncates a text for the model. */

import { truncateText } from '../json.js';
import type { JsonSchema } from '../tool/definition.js';
import type { Count } from './arguments.js';

/** How many characters are returned. */
export const CHARS: Count = { most: 20_000, otherwise: 4000 };

/** The schema of the argument. */
export const CHARS_SCHEMA: JsonSchema = {
  type: 'integer',
  description: `Maximum number of characters. Default: ${CHARS.otherwise}.`,
  minimum: 1,
  maximum: CHARS.most,
};

/** A truncated text. */
export interface Excerpt {
  text: string;
  /** Length of the whole text. */
  characters: number;
  /** Whether it was truncated. */
  cut: boolean;
}

/** The start of a text. */
export function excerpt(whole: string, most: number): Excerpt {
  return { text: truncateText(whole, most), characters: whole.length, cut: whole.length > most };
}
