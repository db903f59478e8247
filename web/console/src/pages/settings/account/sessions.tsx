/** The browsers in which the user is signed in. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { endOtherSessions, endSession, sessionsQuery, type BrowserSessionInfo } from '../../../api/accounts';
import { leave } from '../../../api/sign-out';
import { withFreshSignIn } from '../../../sign-in/fresh';
import { Button } from '../../../ui/button';
import { Confirm } from '../../../ui/dialog';
import { Badge, ErrorBox, Loading } from '../../../ui/feedback';
import { Card } from '../../../ui/page';
import { METHOD_TEXTS } from '../../../ui/roles';
import { Ago } from '../../../ui/time';
import { toast, toastError } from '../../../ui/toast';
import { refetchAccount } from './refetch';

export function Sessions() {
  const list = useQuery(sessionsQuery);
  const sessions = list.data?.sessions ?? [];
  const [asksAll, askAll] = useState(false);
  const endOthers = useMutation({
    mutationFn: () => withFreshSignIn(endOtherSessions),
    onSuccess: () => toast('All other browsers were signed out.'),
    onError: toastError,
    onSettled: () => {
      askAll(false);
      return refetchAccount();
    },
  });
  const hasOthers = sessions.some(({ current }) => !current);
  return (
    <Card
      title="Browser sessions"
      actions={
        hasOthers && (
          <Button small kind="danger" onClick={() => askAll(true)}>
            Sign out all others
          </Button>
        )
      }
    >
      {list.isPending && <Loading what="your sessions" />}
      {list.error && <ErrorBox error={list.error} onRetry={() => void list.refetch()} />}
      {list.data && sessions.length === 0 && <p className="muted flat">You are not signed in in any browser.</p>}
      {sessions.length > 0 && <SessionList sessions={sessions} />}
      {asksAll && (
        <Confirm
          title="Sign out all other browsers?"
          action="Sign out all others"
          danger
          busy={endOthers.isPending}
          onConfirm={() => endOthers.mutate()}
          onClose={() => askAll(false)}
        >
          <p>This browser stays signed in. Tokens and connected clients are not affected.</p>
        </Confirm>
      )}
    </Card>
  );
}

function SessionList({ sessions }: { sessions: readonly BrowserSessionInfo[] }) {
  const end = useMutation({
    mutationFn: (one: BrowserSessionInfo) => (one.current ? leave() : withFreshSignIn(() => endSession(one.id))),
    onSuccess: (_, { device }) => toast(`${device} was signed out.`),
    onError: toastError,
    onSettled: refetchAccount,
  });
  return (
    <ul className="plain-list entries" aria-label="Browser sessions">
      {sessions.map((one) => (
        <li key={one.id} className="row between">
          <div className="grow">
            <h3 className="row">
              {one.device} {one.current && <Badge kind="accent">this browser</Badge>}
            </h3>
            <p className="muted flat">
              Signed in <Ago at={one.startedAt} /> {METHOD_TEXTS[one.method]}, last used <Ago at={one.lastSeenAt} />, ends{' '}
              <Ago at={one.endsAt} />
            </p>
          </div>
          <Button
            small
            aria-disabled={end.isPending}
            onClick={() => void (end.isPending || end.mutate(one))}
            aria-label={`Sign out ${one.device}${one.current ? ', this browser' : ''}`}
          >
            Sign out
          </Button>
        </li>
      ))}
    </ul>
  );
}
