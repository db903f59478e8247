/** Formats times and sizes. */
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const STEPS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

function ago(iso: string, now = Date.now()): string {
  const seconds = (Date.parse(iso) - now) / 1_000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(seconds) >= size || unit === 'second') return RELATIVE.format(Math.trunc(seconds / size), unit);
  }
  return '';
}

export const fullTime = (iso: string) => FULL.format(new Date(iso));

export function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={fullTime(at)}>
      {ago(at)}
    </time>
  );
}

/** Number and unit stay on one line. */
export function duration(us: number): string {
  if (us < 1_000) return `${us}\u00a0µs`;
  if (us < 1_000_000) return `${(us / 1_000).toFixed(us < 10_000 ? 1 : 0)}\u00a0ms`;
  return `${(us / 1_000_000).toFixed(us < 10_000_000 ? 1 : 0)}\u00a0s`;
}

export function bytes(count: number): string {
  if (count < 1_024) return `${count} B`;
  if (count < 1_048_576) return `${(count / 1_024).toFixed(1)} KiB`;
  return `${(count / 1_048_576).toFixed(1)} MiB`;
}
