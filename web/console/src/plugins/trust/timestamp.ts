/** Times as the lists and manifests have them. */
const FORM = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d(?::?\d\d)?)$/i;

/** Milliseconds since 1970; null where it is no time. */
export function readTime(text: string): number | null {
  const time = FORM.test(text) ? Date.parse(text.replace(' ', 'T').replace(',', '.')) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

export const tellTime = (time: number) => new Date(time).toISOString().replace('.000Z', 'Z');
