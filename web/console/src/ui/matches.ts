/** Searching in lists that are here as a whole. */

/** Whether every word of the search is somewhere in the texts. */
export function matches(search: string, ...texts: readonly (string | undefined)[]): boolean {
  return hasWords(wordsIn(search), texts.join('\n').toLowerCase());
}

/** For long lists: the words of a search, once, and texts that are in small letters already. */
export const wordsIn = (search: string) => search.toLowerCase().split(/\s+/);
export const hasWords = (words: readonly string[], text: string) => words.every((word) => text.includes(word));
