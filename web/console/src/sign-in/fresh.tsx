/** Some changes need a recent sign-in. The user signs in again in a dialog, and then the change continues. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { SIGN_IN_AGAIN, type SignedIn } from '../api/accounts';
import type { Me } from '../api/console';
import { ApiError } from '../api/error';
import { meQuery, queryClient } from '../api/queries';
import { cookieSession, onSessionChange, session, type Session } from '../api/session';
import { signInMethodsQuery } from '../api/sign-in';
import { fetchProfile } from '../shell/fetch-profile';
import { Dialog } from '../ui/dialog';
import { ErrorBox, Loading } from '../ui/feedback';
import { AccountSignIn } from './methods';
import { onReturnToTab } from './return-to-tab';

interface Waiting {
  proceed: () => void;
  cancel: () => void;
}

const listeners = new Set<() => void>();
let waiting: Waiting | null = null;

function setWaiting(next: Waiting | null): void {
  waiting = next;
  for (const listener of listeners) listener();
}

// A change of one user must not continue for another.
onSessionChange(() => {
  if (waiting !== null) close(waiting);
});

/** Runs a change. If the server wants a recent sign-in first, asks for it and runs the change again. */
export async function withFreshSignIn<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== SIGN_IN_AGAIN) throw error;
    await new Promise<void>((proceed, reject) => {
      // There is one dialog: a change that was waiting for it is given up.
      waiting?.cancel();
      setWaiting({ proceed, cancel: () => reject(error) });
    });
    return change();
  }
}

interface Props {
  me: Me;
  /** Another user signed in. */
  onOther: (next: Session) => void;
}

export function FreshSignIn(props: Props) {
  const current = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => waiting,
  );
  return current === null ? null : <FreshSignInDialog {...props} waiting={current} />;
}

function FreshSignInDialog({ me, onOther, waiting }: Props & { waiting: Waiting }) {
  const methods = useQuery(signInMethodsQuery);
  const before = me.session?.id;
  useEffect(
    () =>
      onReturnToTab(async () => {
        const now = session();
        const found = now === null ? null : await fetchProfile(now).catch(() => null);
        if (found?.session != null && found.session.id !== before && found.name === me.name) proceed(waiting);
      }),
    [before, me.name, waiting],
  );
  function finish({ userId }: SignedIn) {
    if (userId === me.name) return proceed(waiting);
    close(waiting);
    onOther(cookieSession(userId));
  }
  return (
    <Dialog title="Confirm that it is you" onClose={() => close(waiting)}>
      <p>This change needs a recent sign-in. Sign in again as {me.name} to continue.</p>
      {methods.isPending && <Loading />}
      {methods.error && <ErrorBox error={methods.error} onRetry={() => void methods.refetch()} />}
      {methods.data && <AccountSignIn methods={methods.data} account={me.name} onSignedIn={finish} />}
    </Dialog>
  );
}

function proceed(current: Waiting): void {
  setWaiting(null);
  // The session has a new id and start.
  void queryClient.invalidateQueries({ queryKey: meQuery.queryKey });
  current.proceed();
}

function close(current: Waiting): void {
  setWaiting(null);
  current.cancel();
}
