/** Numbers of the server in the shape that plots have. */

const DAY_S = 86_400;

/** The time at which each bucket begins; days as well where there is more than one. */
export function bucketLabels(from: string, seconds: number, count: number, locale?: string): string[] {
  const long = seconds * count > 2 * DAY_S;
  const format = new Intl.DateTimeFormat(locale, long ? { month: 'short', day: 'numeric' } : { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const start = Date.parse(from);
  return Array.from({ length: count }, (_, place) => format.format(new Date(start + place * seconds * 1_000)));
}

/** Percent of calls that failed, in each bucket; none where nothing was called. */
export function errorRates(series: readonly { calls: readonly number[]; errors: readonly number[] }[]): number[] {
  const sum = (pick: (one: { calls: readonly number[]; errors: readonly number[] }) => readonly number[], place: number) =>
    series.reduce((total, one) => total + (pick(one)[place] ?? 0), 0);
  return (series[0]?.calls ?? []).map((_, place) => {
    const calls = sum((one) => one.calls, place);
    return calls === 0 ? 0 : (100 * sum((one) => one.errors, place)) / calls;
  });
}

export const seriesName = (key: string) => (key === '*' ? 'all others' : key);
