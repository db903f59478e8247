/** Tokens, connected clients and apps of a user. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useId, type ReactNode } from 'react';
import { api, responseData } from '../../api/client';
import { clientsOfQuery, disconnectClientOf } from '../../api/clients';
import { getTokens } from '../../api/console';
import { asUser } from '../../api/session';
import { AppIcon } from '../../ui/app-icon';
import { ErrorBox, Loading } from '../../ui/feedback';
import { MoreFromServer } from '../../ui/more';
import { ClientList } from '../settings/client-list';
import { TokenList } from '../settings/token-list';
import { tokenState } from '../settings/token-state';

function Section({ title, children }: { title: string; children: ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h2 id={id} className="list-title">
        {title}
      </h2>
      {children}
    </section>
  );
}

const PAGE = 100;

export function PersonTokens({ user }: { user: string }) {
  const list = useInfiniteQuery({
    queryKey: ['tokens', 'of', user],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => getTokens({ before: pageParam, limit: PAGE }, signal, asUser(user)),
    getNextPageParam: (last) => last.next ?? undefined,
  });
  const tokens = (list.data?.pages.flatMap((page) => page.tokens) ?? []).filter(
    (token) => token.subject === user && tokenState(token, Date.now()) === 'good',
  );
  return (
    <Section title="Tokens">
      {list.isPending && <Loading what="the tokens" />}
      {list.error && <ErrorBox error={list.error} onRetry={() => void list.refetch()} />}
      {list.data && tokens.length === 0 && !list.hasNextPage && <p className="muted">No valid tokens.</p>}
      {tokens.length > 0 && <TokenList tokens={tokens} withWhom={false} />}
      <MoreFromServer pages={list} />
    </Section>
  );
}

const installsOfQuery = (user: string) => ({
  queryKey: ['installs', 'of', user],
  queryFn: ({ signal }: { signal: AbortSignal }) => responseData(api.GET('/api/installs', { headers: asUser(user), signal })),
});

export function PersonClients({ user }: { user: string }) {
  const list = useQuery(clientsOfQuery(user));
  const installs = useQuery(installsOfQuery(user));
  const clients = list.data?.clients ?? [];
  const appNames = new Map(installs.data?.installs.map(({ packageName, name }) => [packageName, name] as const));
  return (
    <Section title="Connected clients">
      {list.isPending && <Loading what="the clients" />}
      {list.error && <ErrorBox error={list.error} onRetry={() => void list.refetch()} />}
      {list.data && clients.length === 0 && <p className="muted">No connected clients.</p>}
      {clients.length > 0 && <ClientList clients={clients} appNames={appNames} disconnect={(id) => disconnectClientOf(user, id)} />}
    </Section>
  );
}

export function PersonApps({ user }: { user: string }) {
  const installs = useQuery(installsOfQuery(user));
  return (
    <Section title="Apps">
      {installs.isPending && <Loading what="the apps" />}
      {installs.error && <ErrorBox error={installs.error} onRetry={() => void installs.refetch()} />}
      {installs.data?.installs.length === 0 && <p className="muted">No apps.</p>}
      <ul className="plain-list app-names" aria-label="Apps">
        {installs.data?.installs.map(({ packageName, name, iconUrl }) => (
          <li key={packageName} className="row">
            <AppIcon name={name} packageName={packageName} icon={iconUrl} small />
            <Link to="/apps/$package" params={{ package: packageName }}>
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}
