/** MCP servers whose tools this server offers. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { api } from '../../api/client';
import { queryClient } from '../../api/queries';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { Badge, Empty, ErrorBox, Loading } from '../../ui/feedback';
import { FIRST, Lazy } from '../../ui/lazy';
import { toast, toastError } from '../../ui/toast';
import { UPSTREAM_STATES, upstreamsQuery, useRefresh, type Upstream } from '../activity/upstreams';
import { UpstreamForm } from './upstream-form';
import type { Details } from './upstream-draft';

/** Height of one upstream in pixels. */
const ROW_HEIGHT = 110;

export function Upstreams() {
  const list = useQuery(upstreamsQuery);
  const [adding, setAdding] = useState(false);
  const all = list.data?.upstreams ?? [];
  return (
    <>
      <div className="row between tab-head">
        <p className="muted flat">MCP servers whose tools this server offers under the package mcp.ID. Users install them like apps.</p>
        <Button kind="primary" onClick={() => setAdding(true)} icon={<Plus size={16} aria-hidden />}>
          Add an upstream
        </Button>
      </div>
      {list.isPending && <Loading what="the upstreams" />}
      {list.error && <ErrorBox error={list.error} onRetry={() => void list.refetch()} />}
      {list.data && all.length === 0 && (
        <Empty title="No upstreams">
          <p>Add one by its URL, or in the configuration file under [upstreams].</p>
        </Empty>
      )}
      <ul className="plain-list" aria-label="Upstreams">
        {all.map((one, place) => (
          <Lazy key={one.id} className="card" name={one.details.name || one.id} height={ROW_HEIGHT} first={place < FIRST}>
            {() => <UpstreamCard upstream={one} />}
          </Lazy>
        ))}
      </ul>
      {adding && <UpstreamForm onClose={() => setAdding(false)} />}
    </>
  );
}

function UpstreamCard({ upstream }: { upstream: Upstream }) {
  const { id, details, status, managed } = upstream;
  const [asked, ask] = useState<'change' | 'remove'>();
  const refresh = useRefresh(id);
  const remove = useMutation({
    mutationFn: () => api.DELETE('/api/upstreams/{id}', { params: { path: { id } } }),
    onSuccess: () => toast(`The upstream ${id} was removed.`),
    onError: toastError,
    onSettled: () => {
      ask(undefined);
      return queryClient.invalidateQueries({ queryKey: ['upstreams'] });
    },
  });
  const { text, kind } = UPSTREAM_STATES[status.state];
  return (
    <>
      <div className="row between">
        <div className="grow">
          <h2>{details.name || id}</h2>
          <p className="row flat">
            <code>mcp.{id}</code>
            <Badge kind={kind}>{text}</Badge>
            {managed && <Badge title="It is defined in the configuration file and can be changed only there.">configuration file</Badge>}
            {details.forAll && <Badge kind="accent">for all users</Badge>}
            <span className="muted">
              {status.tools} {status.tools === 1 ? 'tool' : 'tools'}
            </span>
          </p>
        </div>
        <div className="row">
          {details.auth === 'oauth' && (
            <Link to="/upstreams/$id/sign-in" params={{ id }} className="button small" aria-label={`Sign in to ${details.name || id}`}>
              Sign in
            </Link>
          )}
          <Button small disabled={refresh.isPending} onClick={() => refresh.mutate()} aria-label={`Refresh ${id}`}>
            Refresh
          </Button>
          {!managed && (
            <>
              <Button small onClick={() => ask('change')} aria-label={`Change ${id}`}>
                Change
              </Button>
              <Button small kind="danger" onClick={() => ask('remove')} aria-label={`Remove ${id}`}>
                Remove
              </Button>
            </>
          )}
        </div>
      </div>
      {details.description && <p className="flat">{details.description}</p>}
      <p className="muted flat anywhere">{details.url ?? [details.command, ...(details.args ?? [])].join(' ')}</p>
      {status.problem != null && <p className="flat problem">{status.problem}</p>}
      {asked === 'change' && <UpstreamForm id={id} details={details as Details} onClose={() => ask(undefined)} />}
      {asked === 'remove' && (
        <Confirm
          title={`Remove ${details.name || id}?`}
          action="Remove"
          danger
          busy={remove.isPending}
          onConfirm={() => remove.mutate()}
          onClose={() => ask(undefined)}
        >
          <p>Its tools are removed for all users, with all its installs, sealed values and authorizations.</p>
        </Confirm>
      )}
    </>
  );
}
