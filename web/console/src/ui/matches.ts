/** Search in lists that are loaded completely. */

/** Whether every word of the search occurs in the texts. */
export function matches(search: string, ...texts: readonly (string | undefined)[]): boolean {
  return containsWords(searchWords(search), texts.join('\n').toLowerCase());
}

/** For long lists: the words of a search, split once, and texts that are already lowercase. */
export const searchWords = (search: string) => search.toLowerCase().split(/\s+/);
export const containsWords = (words: readonly string[], text: string) => words.every((word) => text.includes(word));
