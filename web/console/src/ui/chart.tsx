/** Bar and line charts as SVG: three small charts need no library. The numbers are also in a table for screen readers. */
import { useEffect, useId, useRef, useState } from 'react';

export interface Series {
  name: string;
  values: readonly number[];
  /** One of the eight colors. */
  hue?: number;
  /** The total of all others: a different line style, drawn above them. */
  isTotal?: boolean;
}

interface Props {
  title: string;
  kind: 'bar' | 'line' | 'stacked';
  labels: readonly string[];
  series: readonly Series[];
  format?: (value: number) => string;
  height?: number;
}

/** Until the size is known. */
const USUAL_WIDTH = 640;
/** Width of one label under the axis. */
const LABEL = 78;
const LEFT = 52;
const BOTTOM = 22;
const TOP = 8;

export function Chart({ title, kind, labels, series, format = plainNumber, height = 200 }: Props) {
  const id = useId();
  const { width, box } = useWidth();
  const sums = labels.map((_, place) => series.reduce((sum, one) => sum + (one.values[place] ?? 0), 0));
  const highest = kind === 'stacked' ? Math.max(0, ...sums) : Math.max(0, ...series.flatMap((one) => one.values));
  const lowest = Math.min(0, ...series.flatMap((one) => one.values));
  const ticks = niceTicks(lowest, highest);
  const [low, high] = [ticks[0] ?? 0, ticks.at(-1) ?? 1];
  const inner = height - BOTTOM - TOP;
  const y = (value: number) => TOP + inner - ((value - low) / (high - low || 1)) * inner;
  const step = (width - LEFT) / Math.max(1, labels.length);
  const every = Math.max(1, Math.ceil(labels.length / Math.max(2, (width - LEFT) / LABEL)));
  return (
    <figure className="chart" ref={box}>
      <figcaption id={id}>{title}</figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-labelledby={id}>
        {ticks.map((tick) => (
          <g key={tick}>
            <line x1={LEFT} x2={width} y1={y(tick)} y2={y(tick)} className="grid" />
            <text x={LEFT - 6} y={y(tick) + 4} textAnchor="end">
              {format(tick)}
            </text>
          </g>
        ))}
        {labels.map((label, place) =>
          place % every === 0 ? (
            <text key={place} x={LEFT + step * (place + 0.5)} y={height - 6} textAnchor="middle">
              {label}
            </text>
          ) : null,
        )}
        {kind === 'line'
          ? series.map((one, which) => (
              <polyline
                key={one.name}
                className={`line ${lookOf(one, which)}`}
                points={one.values.map((value, place) => `${LEFT + step * (place + 0.5)},${y(value)}`).join(' ')}
              />
            ))
          : bars(series, labels, kind, step, y)}
      </svg>
      {series.length > 1 && (
        <ul className="legend" aria-hidden>
          {series.map((one, which) => (
            <li key={one.name}>
              <span className={`swatch ${lookOf(one, which)}`} />
              {one.name}
            </li>
          ))}
        </ul>
      )}
      <details className="chart-table">
        <summary>As a table</summary>
        <div className="table-scroll" tabIndex={0} role="region" aria-labelledby={id}>
          <table>
            <thead>
              <tr>
                <th scope="col" />
                {series.map((one) => (
                  <th key={one.name} scope="col">
                    {one.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {labels.map((label, place) => (
                <tr key={place}>
                  <th scope="row">{label}</th>
                  {series.map((one) => (
                    <td key={one.name}>{format(one.values[place] ?? 0)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}

const lookOf = ({ isTotal, hue }: Series, which: number) => (isTotal === true ? 'total' : `hue-${hue ?? which % 8}`);

/** One unit of the drawing is one pixel on the screen, so that its text has the normal size. */
function useWidth() {
  const box = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(USUAL_WIDTH);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(240, Math.round(element.clientWidth)) || USUAL_WIDTH));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { width, box };
}

function bars(series: readonly Series[], labels: readonly string[], kind: 'bar' | 'stacked', step: number, y: (value: number) => number) {
  const width = kind === 'stacked' ? step * 0.8 : (step * 0.8) / Math.max(1, series.length);
  return labels.map((_, place) => {
    let base = 0;
    return series.map((one, which) => {
      const value = one.values[place] ?? 0;
      const [from, to] = kind === 'stacked' ? [base, base + value] : [0, value];
      if (kind === 'stacked') base += value;
      const x = LEFT + step * (place + 0.1) + (kind === 'stacked' ? 0 : which * width);
      const top = Math.min(y(from), y(to));
      return (
        <rect
          key={`${place}-${which}`}
          x={x}
          y={top}
          width={width}
          height={Math.abs(y(to) - y(from))}
          className={`bar hue-${one.hue ?? which % 8}`}
        />
      );
    });
  });
}

/** Round numbers from low to high, in about four steps. */
export function niceTicks(low: number, highest: number): number[] {
  const high = highest > low ? highest : low + 1;
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const first = Math.floor(low / step);
  const last = Math.max(first + 1, Math.ceil(high / step));
  return Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step);
}

const NUMBER = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2, notation: 'compact' });
const plainNumber = (value: number) => NUMBER.format(value);
