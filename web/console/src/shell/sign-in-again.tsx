/**
 * A dialog above a page whose session lapsed. The page stays as it is, with all input, until its user has signed in again. It cannot be
 * closed otherwise.
 */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Me } from '../api/console';
import {
  cookieSession,
  isSessionEvent,
  isRemembered,
  ownSession,
  sharedSession,
  renew,
  session,
  signOut,
  type Session,
} from '../api/session';
import { signInMethodsQuery } from '../api/sign-in';
import { leave } from '../api/sign-out';
import { AccountSignIn, Fold, offersAccounts } from '../sign-in/methods';
import { onReturnToTab } from '../sign-in/return-to-tab';
import { Button } from '../ui/button';
import { Dialog } from '../ui/dialog';
import { Loading, Notice } from '../ui/feedback';
import { toastError } from '../ui/toast';
import { resumeSession } from './resume-session';
import { fetchProfile } from './fetch-profile';
import { TokenForm } from './token-form';

interface Props {
  me: Me;
  /** Another user is signing in. */
  onOther: (next: Session, remember: boolean) => void;
}

export function SignInAgain(props: Props) {
  return session()?.kind === 'cookie' ? <CookieLapsed {...props} /> : <TokenLapsed {...props} />;
}

/** The page continues, or starts over for another user. */
async function resume({ me, onOther }: Props, own: Session, remember: boolean) {
  const before = session();
  const back = await resumeSession(own, before, me, fetchProfile);
  // The user signed out in another tab meanwhile.
  if (session() !== before) return;
  if (back.isSame) renew(back.session, remember);
  else onOther(back.session, remember);
}

function TokenLapsed(props: Props) {
  const { me } = props;
  useEffect(() => followToken(me), [me]);
  return (
    <Dialog title="Sign in again">
      <Notice kind="warn">
        Your token expired or was revoked. Your input is kept: sign in as {me.userId ?? me.name} with a new token to continue. If you sign
        in as another user, the console is reloaded.
      </Notice>
      <TokenForm remembered={isRemembered()} onEnter={(token, remember) => resume(props, { kind: 'token', token }, remember)}>
        <Button onClick={() => signOut()}>Sign out</Button>
      </TokenForm>
    </Dialog>
  );
}

/** A new token that another tab has stored also works for this tab, if it belongs to the same user. */
function followToken(me: Me): () => void {
  async function look() {
    const [before, kept] = [session(), sharedSession()];
    if (!isRemembered() || before?.kind !== 'token' || kept?.kind !== 'token' || kept.token === before.token) return;
    const back = await resumeSession(ownSession(kept), before, me, fetchProfile).catch(() => null);
    if (back?.isSame === true && session() === before) renew(back.session, true);
  }
  const listen = (event: StorageEvent) => void (isSessionEvent(event) && look());
  void look();
  window.addEventListener('storage', listen);
  return () => window.removeEventListener('storage', listen);
}

function CookieLapsed(props: Props) {
  const { me, onOther } = props;
  const methods = useQuery(signInMethodsQuery);
  const [other, setOther] = useState<string>();
  useEffect(() => followCookie(me, setOther), [me]);
  const hasAccounts = methods.data !== undefined && offersAccounts(methods.data);
  const token = <TokenForm onEnter={(value, remember) => resume(props, { kind: 'token', token: value }, remember)} />;
  return (
    <Dialog title="Sign in again">
      <Notice kind="warn">
        Your session ended. Your input is kept: sign in as {me.name} to continue. If you sign in as another user, the console is reloaded.
      </Notice>
      {other !== undefined && (
        <Notice>
          <p>In another tab, {other} signed in.</p>
          <Button small onClick={() => onOther(cookieSession(other), true)}>
            Continue as {other}
          </Button>
        </Notice>
      )}
      {methods.isPending && <Loading />}
      {hasAccounts && (
        <AccountSignIn methods={methods.data} account={me.name} onSignedIn={({ userId }) => resume(props, cookieSession(userId), true)} />
      )}
      {/* Also if the server does not say which ways there are. */}
      {!methods.isPending && (hasAccounts ? <Fold title="Use a token">{token}</Fold> : token)}
      {/* Not before the rest: it would get the focus. */}
      {!methods.isPending && (
        <div className="dialog-actions">
          <Button onClick={() => void leave().catch(toastError)}>Sign out</Button>
        </div>
      )}
    </Dialog>
  );
}

/** All tabs share the cookie, so a sign-in in another tab ends the lapse, if it is the same user. */
function followCookie(me: Me, onOtherUser: (user: string | undefined) => void): () => void {
  return onReturnToTab(async () => {
    const before = session();
    if (before?.kind !== 'cookie') return;
    const found = await fetchProfile(ownSession(before)).catch(() => null);
    if (found?.session == null || session() !== before) return;
    onOtherUser(found.name === me.name ? undefined : found.name);
    if (found.name !== me.name) return;
    const back = await resumeSession(cookieSession(found.name), before, me, fetchProfile).catch(() => null);
    if (back?.isSame === true && session() === before) renew(back.session, true);
  });
}
