/** Health of the upstream MCP servers. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { RefreshCw } from 'lucide-react';
import { api, responseData } from '../../api/client';
import { queryClient } from '../../api/queries';
import type { components } from '../../api/schema';
import { Button } from '../../ui/button';
import { Badge, Empty, ErrorBox, Loading } from '../../ui/feedback';
import { FIRST, Lazy } from '../../ui/lazy';
import { Ago } from '../../ui/time';
import { toastError } from '../../ui/toast';

export type Upstream = components['schemas']['UpstreamSummary'];

export const upstreamsQuery = { queryKey: ['upstreams'], queryFn: () => responseData(api.GET('/api/upstreams')) };

export const UPSTREAM_STATES: Record<Upstream['status']['state'], { text: string; kind: 'good' | 'bad' | 'warn' | 'plain' }> = {
  up: { text: 'up', kind: 'good' },
  down: { text: 'down', kind: 'bad' },
  unknown: { text: 'not contacted yet', kind: 'plain' },
  'needs-authorization': { text: 'needs authorization', kind: 'warn' },
  disabled: { text: 'disabled', kind: 'plain' },
};

/** Height of one upstream in pixels. */
const ROW_HEIGHT = 90;

export function UpstreamHealth() {
  const list = useQuery(upstreamsQuery);
  return (
    <>
      {list.isPending && <Loading what="the upstreams" />}
      {list.error && <ErrorBox error={list.error} onRetry={() => void list.refetch()} />}
      {list.data?.upstreams.length === 0 && (
        <Empty title="No upstreams">
          <p>
            MCP servers whose tools this server offers. Add one under{' '}
            <Link to="/settings" search={{ tab: 'upstreams' }}>
              Settings
            </Link>
            .
          </p>
        </Empty>
      )}
      <ul className="plain-list stack" aria-label="Upstreams">
        {list.data?.upstreams.map((one, place) => (
          <Lazy key={one.id} className="card upstream" name={one.details.name || one.id} height={ROW_HEIGHT} first={place < FIRST}>
            {() => <Health upstream={one} />}
          </Lazy>
        ))}
      </ul>
    </>
  );
}

function Health({ upstream }: { upstream: Upstream }) {
  const { status, details } = upstream;
  const { text, kind } = UPSTREAM_STATES[status.state];
  const refresh = useRefresh(upstream.id);
  return (
    <>
      <div className="row between">
        <span className="row">
          <h2>{details.name || upstream.id}</h2>
          <Badge kind={kind}>{text}</Badge>
        </span>
        <Button
          small
          disabled={refresh.isPending}
          onClick={() => refresh.mutate()}
          icon={<RefreshCw size={15} aria-hidden />}
          aria-label={`Refresh ${upstream.id}`}
        >
          {' '}
          Refresh
        </Button>
      </div>
      <p className="muted flat">
        {status.tools} {status.tools === 1 ? 'tool' : 'tools'}, {status.prompts} prompts, {status.resources} resources
        {status.listedAt != null && (
          <>
            , updated <Ago at={status.listedAt} />
          </>
        )}
        {status.revision != null && `, MCP ${status.revision}`}
      </p>
      {status.problem != null && <p className="flat problem">{status.problem}</p>}
      {(status.setAside?.length ?? 0) > 0 && (
        <details>
          <summary>{status.setAside?.length} not offered</summary>
          <ul>
            {status.setAside?.slice(0, 50).map((one, place) => (
              <li key={place}>
                <code>{one.name}</code> {one.reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

export function useRefresh(id: string) {
  return useMutation({
    mutationFn: () => responseData(api.POST('/api/upstreams/{id}/refresh', { params: { path: { id } } })),
    onError: toastError,
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['upstreams'] }),
  });
}
