/** The arguments of `show_chart`, as far as they are valid: the model wrote them. */
const MOST_POINTS = 200;

export interface ChartData {
  title: string;
  kind: 'bar' | 'line';
  labels: string[];
  values: number[];
}

/** Throws if there is nothing to draw. */
export function chartOf(args: unknown): ChartData {
  const { title, kind, points } = (args ?? {}) as Record<string, unknown>;
  const list = Array.isArray(points) ? points.slice(0, MOST_POINTS) : [];
  const read = list.flatMap((point: unknown) => {
    const { label, value } = (point ?? {}) as Record<string, unknown>;
    return typeof value === 'number' && Number.isFinite(value) ? [{ label: String(label ?? '').slice(0, 40), value }] : [];
  });
  if (read.length === 0) throw new Error('there are no points to draw');
  return {
    title: String(title ?? 'Chart').slice(0, 120),
    kind: kind === 'line' ? 'line' : 'bar',
    labels: read.map(({ label }) => label),
    values: read.map(({ value }) => value),
  };
}
