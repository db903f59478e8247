/** How a user signs in, and how an operator lets them in or keeps them out. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { changePerson, getSignInLink, signOutPerson, type BrowserSessionInfo, type AccountInfo } from '../../api/accounts';
import { CLIENTS_KEY } from '../../api/clients';
import { queryClient, useMe } from '../../api/queries';
import { withFreshSignIn } from '../../sign-in/fresh';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { Fact, Facts } from '../../ui/facts';
import { Check } from '../../ui/form';
import { countLabel } from '../../ui/labels';
import { Card } from '../../ui/page';
import { METHOD_TEXTS } from '../../ui/roles';
import { Ago } from '../../ui/time';
import { toast, toastError } from '../../ui/toast';
import { LinkDialog } from './link-dialog';
import { refetchPeople } from './refetch';

export function Access({ person }: { person: AccountInfo }) {
  const me = useMe();
  const [asked, ask] = useState<'disable' | 'sign-out'>();
  const { userId } = person;
  const isDisabled = person.disabledAt != null;
  const link = useMutation({ mutationFn: () => withFreshSignIn(() => getSignInLink(userId)), onError: toastError });
  const disable = useMutation({
    mutationFn: (disabled: boolean) => withFreshSignIn(() => changePerson(userId, { disabled })),
    onSuccess: (_, disabled) => toast(disabled ? `${userId} was disabled.` : `${userId} was enabled.`),
    onError: toastError,
    onSettled: () => {
      ask(undefined);
      return refetchPeople();
    },
  });
  return (
    <Card title="Access">
      <Facts>
        <Fact label="Password">{person.hasPassword ? 'Set' : 'Not set'}</Fact>
        <Fact label="Passkeys">{person.passkeys === 0 ? 'None' : person.passkeys}</Fact>
        <Fact label="Managed by">{person.managedBy ?? 'This server'}</Fact>
        <Fact label="Browser sessions">{person.sessions.length === 0 ? 'None' : person.sessions.length}</Fact>
      </Facts>
      <SessionList sessions={person.sessions} />
      <div className="row access-actions">
        <Button
          disabled={isDisabled}
          aria-disabled={link.isPending}
          onClick={() => void (link.isPending || link.mutate())}
          title={isDisabled ? 'Enable the account first' : undefined}
        >
          Create a sign-in link
        </Button>
        <Button onClick={() => ask('sign-out')}>Sign out everywhere</Button>
        {isDisabled && (
          <Button aria-disabled={disable.isPending} onClick={() => void (disable.isPending || disable.mutate(false))}>
            Enable account
          </Button>
        )}
        {!isDisabled && me.name !== userId && (
          <Button kind="danger" onClick={() => ask('disable')}>
            Disable account
          </Button>
        )}
      </div>
      {link.data !== undefined && <LinkDialog title="Sign-in link" user={userId} link={link.data} onClose={() => link.reset()} />}
      {asked === 'disable' && (
        <Confirm
          title={`Disable ${userId}?`}
          action="Disable account"
          danger
          busy={disable.isPending}
          onConfirm={() => disable.mutate(true)}
          onClose={() => ask(undefined)}
        >
          <p>
            The user is signed out at once and cannot sign in. Tokens are revoked, and clients disconnected. All data is kept, and you can
            enable the account again.
          </p>
        </Confirm>
      )}
      {asked === 'sign-out' && <SignOutEverywhere person={person} onClose={() => ask(undefined)} />}
    </Card>
  );
}

function SessionList({ sessions }: { sessions: readonly BrowserSessionInfo[] }) {
  if (sessions.length === 0) return null;
  return (
    <ul className="plain-list entries" aria-label="Browser sessions">
      {sessions.map((one) => (
        <li key={one.id}>
          <strong>{one.device}</strong>{' '}
          <span className="muted">
            signed in <Ago at={one.startedAt} /> {METHOD_TEXTS[one.method]}, last used <Ago at={one.lastSeenAt} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function SignOutEverywhere({ person, onClose }: { person: AccountInfo; onClose: () => void }) {
  const [tokens, setTokens] = useState(false);
  const [clients, setClients] = useState(false);
  const end = useMutation({
    mutationFn: () => withFreshSignIn(() => signOutPerson(person.userId, { tokens, clients })),
    onSuccess: () => toast(`${person.userId} was signed out everywhere.`),
    onError: toastError,
    onSettled: async () => {
      onClose();
      await Promise.all([
        refetchPeople(),
        queryClient.invalidateQueries({ queryKey: ['tokens'] }),
        queryClient.invalidateQueries({ queryKey: [CLIENTS_KEY] }),
      ]);
    },
  });
  return (
    <Confirm
      title={`Sign out ${person.userId} everywhere?`}
      action="Sign out everywhere"
      danger
      busy={end.isPending}
      onConfirm={() => end.mutate()}
      onClose={onClose}
    >
      <p>All browser sessions of the user end. They can sign in again.</p>
      <Check label={`Also revoke tokens (${countLabel(person.tokens, 'token')})`} checked={tokens} onChange={setTokens} />
      <Check label={`Also disconnect clients (${countLabel(person.clients, 'client')})`} checked={clients} onChange={setClients} />
    </Confirm>
  );
}
