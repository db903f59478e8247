/** One call: what happened, step by step. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import type { CallSummary } from '../../api/calls';
import { api, data } from '../../api/client';
import { Refused } from '../../api/error';
import { Code } from '../../ui/code';
import { Badge, Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Card, Page } from '../../ui/page';
import { bytes, duration, fullTime } from '../../ui/time';
import { StepBar } from './step-bar';
import { useLastSearch } from './use-filters';
import { callerWords, doorWords, outcomeWords, splitTool } from './words';
import './style.css';

export function CallPage() {
  const { id } = useParams({ from: '/activity/$id' });
  const { of } = useSearch({ from: '/activity/$id' });
  const call = useQuery({
    queryKey: ['activity', 'call', id, of ?? ''],
    queryFn: ({ signal }) => data(api.GET('/api/calls/{id}', { params: { path: { id }, query: of === undefined ? {} : { of } }, signal })),
    staleTime: Infinity,
  });
  const last = useLastSearch();
  const missing = call.error instanceof Refused && call.error.status === 404;
  return (
    <Page title={call.data === undefined ? 'Call' : splitTool(call.data.tool).name} lead={call.data && splitTool(call.data.tool).app}>
      <div className="activity-page">
        <p>
          <Link to="/activity" search={last} className="back">
            <ArrowLeft size={16} aria-hidden /> All calls
          </Link>
        </p>
        {call.isPending && <Loading what="the call" />}
        {missing && (
          <Empty title="No such call">
            <p>
              It is not {of === 'apps' ? 'of your apps' : 'yours'}, or it is older than the server keeps calls. A call is written a moment
              after it ends.
            </p>
          </Empty>
        )}
        {call.error && !missing && <ErrorBox error={call.error} onRetry={() => void call.refetch()} />}
        {call.data && <Details call={call.data} />}
      </div>
    </Page>
  );
}

/** Who it was is not for those who see the calls of their apps. */
const NOT_SHOWN = 'not shown to developers';

function Details({ call }: { call: CallSummary }) {
  const facts: [string, string][] = [
    ['Began', fullTime(call.startedAt)],
    ['Took', duration(call.durationUs)],
    ['For', call.userId ?? NOT_SHOWN],
    ['Called by', call.caller == null ? NOT_SHOWN : callerWords(call.caller)],
    ['Door', doorWords(call.door)],
    ['Ran in', call.source],
    ['Arguments', bytes(call.bytesIn)],
    ['Result', bytes(call.bytesOut)],
  ];
  return (
    <>
      <Card title="Outcome">
        <p className="row flat">
          <Badge kind={call.outcome === 'OK' ? 'good' : 'bad'}>{call.outcome}</Badge>
          {outcomeWords(call.outcome)}
        </p>
        {call.errorMessage != null && <Code label="Error message" value={call.errorMessage} />}
        {call.replayed && <p className="flat muted">The outcome was found under the caller's idempotency key; nothing ran.</p>}
      </Card>
      <Card title="Steps">
        <StepBar steps={call.steps} total={call.durationUs} />
      </Card>
      <Card title="Facts">
        <dl className="facts">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
          <div className="wide">
            <dt>Call id</dt>
            <dd>
              <code>{call.id}</code>
            </dd>
          </div>
          <div className="wide">
            <dt>Trace id</dt>
            <dd>{call.traceId == null ? 'none' : <code>{call.traceId}</code>}</dd>
          </div>
        </dl>
      </Card>
    </>
  );
}
