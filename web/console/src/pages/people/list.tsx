/** Everyone who uses this server, for operators. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { UserPlus } from 'lucide-react';
import { useState } from 'react';
import { getPeople, PEOPLE_KEY, type UserSummary } from '../../api/accounts';
import { useMe } from '../../api/queries';
import { Button } from '../../ui/button';
import { SEARCH_MS, useDebounced } from '../../ui/debounced';
import { Badge, Empty, ErrorBox, Loading } from '../../ui/feedback';
import { MoreFromServer } from '../../ui/more';
import { Page } from '../../ui/page';
import { Search } from '../../ui/search';
import { Ago } from '../../ui/time';
import { useUrlText } from '../../ui/url-state';
import { InviteDialog } from './invite';
import { OperatorsOnly } from './operators-only';
import './style.css';

const PAGE = 50;

export function PeoplePage() {
  return useMe().operates ? <People /> : <OperatorsOnly />;
}

function People() {
  const [search, setSearch] = useUrlText('q');
  const [isInviting, setInviting] = useState(false);
  const q = useDebounced(search.trim(), SEARCH_MS);
  const people = useInfiniteQuery({
    queryKey: [PEOPLE_KEY, 'list', q],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => getPeople({ q, after: pageParam, limit: PAGE }, signal),
    getNextPageParam: (last) => last.next ?? undefined,
    // The previous result stays until the next one is there.
    placeholderData: (before) => before,
  });
  const users = people.data?.pages.flatMap((page) => page.users) ?? [];
  return (
    <div className="people-pages">
      <Page
        title="People"
        lead="Everyone who uses this server."
        actions={
          <Button kind="primary" icon={<UserPlus size={17} aria-hidden />} onClick={() => setInviting(true)}>
            Invite a user
          </Button>
        }
      >
        <div className="row above-list">
          <Search label="Search people" placeholder="Search by user, name or email" value={search} onChange={setSearch} />
        </div>
        {people.isPending && <Loading what="people" />}
        {people.error && <ErrorBox error={people.error} onRetry={() => void people.refetch()} />}
        {people.data && users.length === 0 && (
          <Empty title={q === '' ? 'No users yet' : 'Nothing found'}>{q === '' && <p>Invite the first user to this server.</p>}</Empty>
        )}
        {users.length > 0 && <PeopleTable users={users} />}
        <MoreFromServer pages={people} />
        {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
      </Page>
    </div>
  );
}

const COLUMNS = ['User', 'Name and email', 'Role', 'Groups', 'Apps', 'Last seen', 'State'];

function PeopleTable({ users }: { users: readonly UserSummary[] }) {
  return (
    <div className="table-scroll card flush" tabIndex={0} role="region" aria-label="People">
      {/* Explicit roles: on a phone the rows are displayed as blocks, but are still a table. */}
      <table className="people" role="table">
        <thead role="rowgroup">
          <tr role="row">
            {COLUMNS.map((name) => (
              <th key={name} scope="col" role="columnheader" className={name === 'Apps' ? 'number' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {users.map((user) => (
            <PersonRow key={user.userId} user={user} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function PersonRow({ user }: { user: UserSummary }) {
  return (
    <tr role="row">
      <td className="id" role="cell">
        <Link to="/people/$id" params={{ id: user.userId }}>
          {user.userId}
        </Link>
      </td>
      <td className="who" role="cell">
        {user.name != null && <span>{user.name}</span>}
        {user.email != null && user.email !== user.userId && <span className="muted">{user.email}</span>}
      </td>
      <td className="role" role="cell">
        {user.role ?? ''}
      </td>
      <td className="groups" role="cell">
        {user.groups.join(', ')}
      </td>
      <td className="apps number" role="cell">
        {user.apps}
        <span className="unit"> {user.apps === 1 ? 'app' : 'apps'}</span>
      </td>
      <td className="seen" role="cell">
        {user.lastSeenAt == null ? <span className="muted">never</span> : <Ago at={user.lastSeenAt} />}
      </td>
      <td className="state" role="cell">
        <PersonState user={user} />
      </td>
    </tr>
  );
}

function PersonState({ user }: { user: UserSummary }) {
  if (user.disabled) return <Badge kind="bad">disabled</Badge>;
  if (user.live) return <Badge kind="good">{user.deviceModel ?? 'live'}</Badge>;
  return user.hasAccount ? <Badge>active</Badge> : <Badge kind="warn">no account</Badge>;
}
