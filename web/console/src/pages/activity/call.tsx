/** One call: what happened, step by step. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import type { CallSummary } from '../../api/calls';
import { api, responseData } from '../../api/client';
import { ApiError } from '../../api/error';
import { Code } from '../../ui/code';
import { Badge, Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Card, Page } from '../../ui/page';
import { bytes, duration, fullTime } from '../../ui/time';
import { StepBar } from './step-bar';
import { useLastSearch } from './use-filters';
import { callerLabel, interfaceLabel, describeOutcome, splitTool, outcomeKind } from './labels';
import './style.css';

export function CallPage() {
  const { id } = useParams({ from: '/activity/$id' });
  const { of } = useSearch({ from: '/activity/$id' });
  const call = useQuery({
    queryKey: ['activity', 'call', id, of ?? ''],
    queryFn: ({ signal }) =>
      responseData(api.GET('/api/calls/{id}', { params: { path: { id }, query: of === undefined ? {} : { of } }, signal })),
    staleTime: Infinity,
  });
  const last = useLastSearch();
  const missing = call.error instanceof ApiError && call.error.status === 404;
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
              It does not belong to {of === 'apps' ? 'your apps' : 'you'}, or it is older than the server keeps calls. Calls are recorded a
              moment after they finish.
            </p>
          </Empty>
        )}
        {call.error && !missing && <ErrorBox error={call.error} onRetry={() => void call.refetch()} />}
        {call.data && <Details call={call.data} />}
      </div>
    </Page>
  );
}

/** Developers who see the calls of their apps do not see the user. */
const NOT_SHOWN = 'not shown to developers';

function Details({ call }: { call: CallSummary }) {
  const facts: [string, string][] = [
    ['Started', fullTime(call.startedAt)],
    ['Duration', duration(call.durationUs)],
    ['User', call.userId ?? NOT_SHOWN],
    ['Called by', call.caller == null ? NOT_SHOWN : callerLabel(call.caller)],
    ['Interface', interfaceLabel(call.door)],
    ['Source', call.source],
    ['Arguments', bytes(call.bytesIn)],
    ['Result', bytes(call.bytesOut)],
  ];
  return (
    <>
      <Card title="Outcome">
        <p className="row flat">
          <Badge kind={outcomeKind(call.outcome)}>{call.outcome}</Badge>
          {describeOutcome(call.outcome)}
        </p>
        {call.errorMessage != null && <Code label="Error message" value={call.errorMessage} />}
        {call.replayed && <p className="flat muted">The result was returned for a repeated idempotency key. The tool did not run again.</p>}
      </Card>
      <Card title="Steps">
        <StepBar steps={call.steps} total={call.durationUs} />
      </Card>
      <Card title="Details">
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
