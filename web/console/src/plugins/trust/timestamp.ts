/** Timestamps in lists and manifests. */
const FORM = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d(?::?\d\d)?)$/i;

/** Milliseconds since 1970; null if it is not a time. */
export function readTime(text: string): number | null {
  const time = FORM.test(text) ? Date.parse(text.replace(' ', 'T').replace(',', '.')) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

export const formatTime = (time: number) => new Date(time).toISOString().replace('.000Z', 'Z');
