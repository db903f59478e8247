/** One user, for operators: profile, access, and what belongs to them. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { ArrowLeft } from 'lucide-react';
import { useState } from 'react';
import { personQuery, type AccountInfo } from '../../api/accounts';
import { ApiError } from '../../api/error';
import { useMe } from '../../api/queries';
import { Button } from '../../ui/button';
import { Fact, Facts } from '../../ui/facts';
import { Badge, Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Card, Page } from '../../ui/page';
import { Ago } from '../../ui/time';
import { Access } from './access';
import { InviteDialog } from './invite';
import { OperatorsOnly } from './operators-only';
import { PersonApps, PersonClients, PersonTokens } from './belongings';
import { PersonData } from './person-data';
import { ProfileForm } from './profile-form';
import './style.css';

export function PersonPage() {
  const me = useMe();
  const { id } = useParams({ from: '/people/$id' });
  return me.operates ? <Person key={id} id={id} /> : <OperatorsOnly />;
}

function Person({ id }: { id: string }) {
  const person = useQuery(personQuery(id));
  // Stays open when the account exists: it then shows the link.
  const [isInviting, setInviting] = useState(false);
  const isMissing = person.error instanceof ApiError && person.error.status === 404;
  return (
    <div className="people-pages">
      <Page title={person.data?.name ?? id} lead={person.data !== undefined && person.data.name != null ? id : undefined}>
        <p>
          <Link to="/people" className="back">
            <ArrowLeft size={16} aria-hidden /> All people
          </Link>
        </p>
        {person.isPending && <Loading what="the user" />}
        {isMissing && <NoAccount id={id} onCreate={() => setInviting(true)} />}
        {person.error && !isMissing && <ErrorBox error={person.error} onRetry={() => void person.refetch()} />}
        {person.data && !isMissing && <Details person={person.data} />}
        {isInviting && <InviteDialog userId={id} onClose={() => setInviting(false)} />}
      </Page>
    </div>
  );
}

function NoAccount({ id, onCreate }: { id: string; onCreate: () => void }) {
  return (
    <Empty title="No account">
      <p>{id} has no account on this server. Without one, a user can use tokens, but cannot sign in in a browser.</p>
      <Button kind="primary" onClick={onCreate}>
        Create an account
      </Button>
    </Empty>
  );
}

function Details({ person }: { person: AccountInfo }) {
  return (
    <>
      <Summary person={person} />
      <ProfileForm person={person} />
      <Access person={person} />
      <PersonTokens user={person.userId} />
      <PersonClients user={person.userId} />
      <PersonApps user={person.userId} />
      <PersonData user={person.userId} />
    </>
  );
}

const COUNT = new Intl.NumberFormat();

function Summary({ person }: { person: AccountInfo }) {
  return (
    <Card>
      <Facts>
        <Fact label="State">
          {person.disabledAt == null ? (
            <Badge kind="good">active</Badge>
          ) : (
            <span className="row">
              <Badge kind="bad">disabled</Badge> <Ago at={person.disabledAt} />
            </span>
          )}
        </Fact>
        <Fact label="Created">
          <Ago at={person.createdAt} />
        </Fact>
        <Fact label="Last seen">{person.lastSeenAt == null ? 'Never' : <Ago at={person.lastSeenAt} />}</Fact>
        <Fact label="Calls in the last 30 days">
          <Link to="/activity" search={{ user: person.userId }}>
            {COUNT.format(person.calls30Days)}
          </Link>
        </Fact>
      </Facts>
    </Card>
  );
}
