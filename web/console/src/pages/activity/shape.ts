/** Converts the server's numbers for charts. */
import type { Series } from '../../ui/chart';

const DAY_S = 86_400;

/** The start time of each bucket, with the day if there is more than one. */
export function bucketLabels(from: string, seconds: number, count: number, locale?: string): string[] {
  const long = seconds * count > 2 * DAY_S;
  const format = new Intl.DateTimeFormat(
    locale,
    long ? { month: 'short', day: 'numeric' } : { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  );
  const start = Date.parse(from);
  return Array.from({ length: count }, (_, place) => format.format(new Date(start + place * seconds * 1_000)));
}

interface Counted {
  key: string;
  calls: readonly number[];
  errors: readonly number[];
}

/** Percentage of failed calls in each bucket; none if there were no calls. */
export function errorRates(series: readonly Pick<Counted, 'calls' | 'errors'>[]): number[] {
  const sum = (what: 'calls' | 'errors', place: number) => series.reduce((total, one) => total + (one[what][place] ?? 0), 0);
  return (series[0]?.calls ?? []).map((_, place) => {
    const calls = sum('calls', place);
    return calls === 0 ? 0 : (100 * sum('errors', place)) / calls;
  });
}

/** Calls by app or tool. Each has the same name and color in all charts. */
export const callSeries = (series: readonly Counted[]): Series[] =>
  series.map((one, place) => ({ ...lookOf(one, place), values: one.calls }));

/** Failure rates; with more than one series, also the total. */
export function errorSeries(series: readonly Counted[]): Series[] {
  const each = series.map((one, place): Series => ({ ...lookOf(one, place), values: errorRates([one]) }));
  return each.length > 1 ? [...each, { name: 'total', values: errorRates(series), isTotal: true }] : each;
}

const HUES = 8;
const REST_HUE = 7;
const lookOf = ({ key }: Counted, place: number) => ({ name: seriesName(key), hue: key === '*' ? REST_HUE : place % HUES });

export const seriesName = (key: string) => (key === '*' ? 'other' : key);
