/** The calls: the newest page of the ledger, then older ones. New calls appear on top while the stream is active. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Pause, Play } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import { useCalls, type CallSummary, type Watching } from '../../api/calls';
import { api, responseData } from '../../api/client';
import { useMe } from '../../api/queries';
import { Button } from '../../ui/button';
import { Badge, Empty, ErrorBox, Loading, Notice } from '../../ui/feedback';
import { useNextPage } from '../../ui/more';
import { duration, fullTime } from '../../ui/time';
import { matchesFilters, listQuery, scopeQuery, type Filters } from './filters';
import { interfaceLabel, splitTool, outcomeKind } from './labels';

const PAGE = '50';
/** Maximum number of rows. The same number of new calls is kept, so that no call is missing between them and the ledger page. */
const MOST_ROWS = 1_000;

const WATCHING: Record<Watching, { text: string; kind: 'good' | 'warn' | 'plain' }> = {
  live: { text: 'live', kind: 'good' },
  connecting: { text: 'connecting', kind: 'warn' },
  lost: { text: 'connection lost', kind: 'warn' },
  paused: { text: 'paused', kind: 'plain' },
};

export function CallList({ filters }: { filters: Filters }) {
  const me = useMe();
  const [paused, setPaused] = useState(false);
  const [fresh, setFresh] = useState<readonly CallSummary[]>([]);
  const [missed, setMissed] = useState(0);
  const key = JSON.stringify(filters);
  const pages = useInfiniteQuery({
    queryKey: ['activity', 'calls', key],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => {
      const query = Object.fromEntries(Object.entries(listQuery(filters, Date.now())).filter(([, value]) => value));
      return responseData(
        api.GET('/api/calls', {
          params: { query: { ...query, limit: PAGE, ...(pageParam !== undefined && { before: pageParam }) } },
          signal,
        }),
      );
    },
    getNextPageParam: (last) => last.next ?? undefined,
    // New calls arrive through the stream.
    refetchOnWindowFocus: false,
    staleTime: 0,
  });
  useEffect(() => {
    setFresh([]);
    setMissed(0);
  }, [key]);
  const watching = useCalls(!paused, scopeQuery(filters), {
    onCall: (call) => matchesFilters(call, filters) && setFresh((now) => [call, ...now].slice(0, MOST_ROWS)),
    onMissed: (count) => setMissed((now) => now + count),
  });
  const { isFetching, refetch } = pages;
  const { isLoading, askForNext } = useNextPage(pages);
  const [isBehind, setBehind] = useState(false);
  useEffect(() => {
    // Calls that ended before the subscription, during a pause or a disconnect, are in the ledger.
    if (watching === 'live') setBehind(true);
  }, [watching]);
  useEffect(() => {
    // It would cancel a read in progress, and with it a page that the user asked for.
    if (!isBehind || isFetching) return;
    setBehind(false);
    void refetch();
  }, [isBehind, isFetching, refetch]);
  const rows = useMemo(() => {
    const listed = pages.data?.pages.flatMap((page) => page.calls) ?? [];
    const known = new Set(fresh.map((call) => call.id));
    const all = [...fresh, ...listed.filter((call) => !known.has(call.id))];
    return all.sort((one, other) => (one.startedAt < other.startedAt ? 1 : one.startedAt > other.startedAt ? -1 : 0)).slice(0, MOST_ROWS);
  }, [pages.data, fresh]);
  const { text, kind } = WATCHING[watching];
  return (
    <>
      <div className="row between live-bar">
        <span className="row">
          {/* The number is not part of it, because it would be read aloud with each call. */}
          <span role="status">
            <Badge kind={kind}>{text}</Badge>
          </span>
          {fresh.length > 0 && <span className="muted">{fresh.length} new</span>}
        </span>
        <Button small onClick={() => setPaused(!paused)} icon={paused ? <Play size={15} aria-hidden /> : <Pause size={15} aria-hidden />}>
          {paused ? 'Resume' : 'Pause'}
        </Button>
      </div>
      {missed > 0 && <Notice kind="warn">{missed} calls arrived faster than they could be shown. Pause and resume to see them.</Notice>}
      {pages.isPending && <Loading what="the calls" />}
      {pages.error && <ErrorBox error={pages.error} onRetry={() => void pages.refetch()} />}
      {pages.data && rows.length === 0 && (
        <Empty title="No calls">
          <p>No calls match the filters. Calls appear here when they finish.</p>
        </Empty>
      )}
      {rows.length > 0 && <CallTable rows={rows} scope={filters.scope} withUser={me.operates && filters.scope === 'mine'} />}
      {pages.hasNextPage && rows.length < MOST_ROWS && (
        <div className="more">
          <Button disabled={isLoading} onClick={askForNext}>
            {isLoading ? 'Loading …' : 'Older calls'}
          </Button>
        </div>
      )}
      {rows.length >= MOST_ROWS && <Notice>Only {MOST_ROWS} calls are shown. Use the filters, or export as CSV, to see others.</Notice>}
    </>
  );
}

const WHEN = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' });

function CallTable({ rows, scope, withUser }: { rows: readonly CallSummary[]; scope: Filters['scope']; withUser: boolean }) {
  return (
    <div className="table-scroll card flush" tabIndex={0} role="region" aria-label="Calls">
      {/* Explicit roles: on a phone the rows are displayed as blocks, but are still a table. */}
      <table className="calls" role="table">
        <thead role="rowgroup">
          <tr role="row">
            {['Time', 'Tool', 'Outcome', 'Duration', ...(withUser ? ['User'] : []), 'Interface'].map((name) => (
              <th key={name} scope="col" role="columnheader" className={name === 'Duration' ? 'number' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((call) => {
            const { app, name } = splitTool(call.tool);
            return (
              <tr key={call.id} role="row">
                <td className="when" role="cell">
                  <time dateTime={call.startedAt} title={fullTime(call.startedAt)}>
                    {WHEN.format(new Date(call.startedAt))}
                  </time>
                </td>
                <td className="tool" role="cell">
                  <Link to="/activity/$id" params={{ id: call.id }} search={scope === 'apps' ? { of: 'apps' } : {}}>
                    {name}
                  </Link>
                  {app !== null && <span className="muted">{app}</span>}
                  {call.errorMessage != null && (
                    <span className="error-message" title={call.errorMessage}>
                      {call.errorMessage}
                    </span>
                  )}
                </td>
                <td className="outcome" role="cell">
                  <Badge kind={outcomeKind(call.outcome)}>{call.outcome}</Badge>
                  {call.replayed && <Badge title="Returned for a repeated idempotency key. The tool did not run again.">replayed</Badge>}
                </td>
                <td className="number" role="cell">
                  {duration(call.durationUs)}
                </td>
                {withUser && (
                  <td className="user" role="cell">
                    {call.userId}
                  </td>
                )}
                <td className="door" role="cell">
                  {interfaceLabel(call.door)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
