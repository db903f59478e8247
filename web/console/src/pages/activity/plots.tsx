/** Calls over time, errors, and durations. */
import { useQuery } from '@tanstack/react-query';
import { getLatency, getUsageOverTime, type Latency, type UsageOverTime } from '../../api/console';
import { Chart } from '../../ui/chart';
import { Badge, Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Select } from '../../ui/form';
import { Card } from '../../ui/page';
import { duration } from '../../ui/time';
import { useUrlChoice } from '../../ui/url-state';
import { usageQuery, type Filters } from './filters';
import { bucketLabels, callSeries, errorSeries } from './shape';
import { describeOutcome, STEPS, STEP_LABELS, outcomeKind } from './labels';

const REFRESH_MS = 30_000;

export function Plots({ filters }: { filters: Filters }) {
  const [by, setBy] = useUrlChoice('by', ['app', 'tool']);
  const key = JSON.stringify({ ...filters, outcome: '' });
  const time = useQuery({
    queryKey: ['activity', 'over-time', key, by],
    queryFn: () => getUsageOverTime({ ...usageQuery(filters, Date.now()), by, buckets: 48 }),
    refetchInterval: REFRESH_MS,
    placeholderData: (before) => before,
  });
  const latency = useQuery({
    queryKey: ['activity', 'latency', key],
    queryFn: () => getLatency(usageQuery(filters, Date.now())),
    refetchInterval: REFRESH_MS,
    placeholderData: (before) => before,
  });
  return (
    <>
      {(time.isPending || latency.isPending) && <Loading what="the numbers" />}
      {time.error && <ErrorBox error={time.error} onRetry={() => void time.refetch()} />}
      {time.data && <OverTime usage={time.data} by={by} onBy={setBy} />}
      {latency.error && <ErrorBox error={latency.error} onRetry={() => void latency.refetch()} />}
      {latency.data && latency.data.count > 0 && <HowLong latency={latency.data} />}
    </>
  );
}

function OverTime({ usage, by, onBy }: { usage: UsageOverTime; by: 'app' | 'tool'; onBy: (by: 'app' | 'tool') => void }) {
  const labels = bucketLabels(usage.from, usage.bucketSeconds, usage.series[0]?.calls.length ?? 0);
  const total = usage.outcomes.reduce((sum, one) => sum + one.count, 0);
  if (total === 0) {
    return (
      <Empty title="No calls in this period">
        <p>Choose a longer period or other filters.</p>
      </Empty>
    );
  }
  return (
    <>
      <Card
        title="Calls"
        actions={
          <label className="inline-field">
            <span>By</span>
            <Select
              value={by}
              onChange={(next) => onBy(next === 'tool' ? 'tool' : 'app')}
              options={[
                { value: 'app', label: 'App' },
                { value: 'tool', label: 'Tool' },
              ]}
            />
          </label>
        }
      >
        <Chart title="Calls over time" kind="stacked" labels={labels} series={callSeries(usage.series)} />
      </Card>
      <div className="grid-2">
        <Card title="Errors">
          <Chart
            title="Share of failed calls"
            kind="line"
            labels={labels}
            series={errorSeries(usage.series)}
            format={(value) => `${Math.round(value * 10) / 10} %`}
          />
        </Card>
        <Card title="Outcomes">
          <ul className="plain-list outcomes" aria-label="Outcomes">
            {usage.outcomes.map((one) => (
              <li key={one.code}>
                <Badge kind={outcomeKind(one.code)}>{one.code}</Badge>
                <span className="muted grow">{describeOutcome(one.code)}</span>
                <strong>{one.count}</strong>
              </li>
            ))}
          </ul>
        </Card>
      </div>
    </>
  );
}

function HowLong({ latency }: { latency: Latency }) {
  const figures: [string, number][] = [
    ['Median', latency.p50Us],
    ['90th percentile', latency.p90Us],
    ['95th percentile', latency.p95Us],
    ['99th percentile', latency.p99Us],
    ['Maximum', latency.maxUs],
  ];
  return (
    <div className="grid-2">
      <Card title="Duration of calls">
        <Chart
          title="Calls by duration"
          kind="bar"
          labels={latency.histogram.map((one) => duration(one.fromUs))}
          series={[{ name: 'calls', values: latency.histogram.map((one) => one.count), hue: 1 }]}
        />
        <dl className="figures">
          {figures.map(([name, us]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{duration(us)}</dd>
            </div>
          ))}
        </dl>
        <p className="hint">
          {latency.sampled
            ? `The newest ${latency.count.toLocaleString()} matching calls.`
            : `${latency.count.toLocaleString()} ${latency.count === 1 ? 'call' : 'calls'}.`}
        </p>
      </Card>
      <Card title="By step">
        <div className="table-scroll" tabIndex={0} role="region" aria-label="Time of each step">
          <table>
            <thead>
              <tr>
                <th scope="col">Step</th>
                <th scope="col" className="number">
                  Median
                </th>
                <th scope="col" className="number">
                  {' '}
                  95th percentile
                </th>
              </tr>
            </thead>
            <tbody>
              {STEPS.map((step) => (
                <tr key={step}>
                  <th scope="row">
                    {step}
                    <span className="step-words">{STEP_LABELS[step]}</span>
                  </th>
                  <td className="number">{duration(latency.steps[step]?.p50Us ?? 0)}</td>
                  <td className="number">{duration(latency.steps[step]?.p95Us ?? 0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Card>
    </div>
  );
}
