/**
 * A dialog above a page whose token lapsed. The page stays as it is, with all input, until its user has a new token. It cannot be closed
 * without one.
 */
import { useEffect } from 'react';
import type { Me } from '../api/console';
import { isSessionEvent, isRemembered, sharedSession, renew, session, signOut, type Session } from '../api/session';
import { Button } from '../ui/button';
import { Dialog } from '../ui/dialog';
import { Notice } from '../ui/feedback';
import { resumeSession } from './resume-session';
import { fetchProfile } from './fetch-profile';
import { TokenForm } from './token-form';

interface Props {
  me: Me;
  /** Another user is signing in. */
  onOther: (next: Session, remember: boolean) => void;
}

export function SignInAgain({ me, onOther }: Props) {
  async function enter(token: string, remember: boolean) {
    const before = session();
    const back = await resumeSession(token, before, me, fetchProfile);
    // The user signed out in another tab meanwhile.
    if (session() !== before) return;
    if (back.isSame) renew(back.session, remember);
    else onOther(back.session, remember);
  }
  useEffect(() => followOtherTabs(me), [me]);
  const who = me.userId ?? me.name;
  return (
    <Dialog title="Sign in again">
      <Notice kind="warn">
        Your token expired or was revoked. Your input is kept: sign in as {who} with a new token to continue. If you sign in as another
        user, the console is reloaded.
      </Notice>
      <TokenForm remembered={isRemembered()} onEnter={enter}>
        <Button onClick={() => signOut()}>Sign out</Button>
      </TokenForm>
    </Dialog>
  );
}

/** A new token that another tab has stored also works for this tab, if it belongs to the same user. */
function followOtherTabs(me: Me): () => void {
  async function look() {
    const [before, kept] = [session(), sharedSession()];
    if (!isRemembered() || before?.kind !== 'token' || kept?.kind !== 'token' || kept.token === before.token) return;
    const back = await resumeSession(kept.token, before, me, fetchProfile).catch(() => null);
    if (back?.isSame === true && session() === before) renew(back.session, true);
  }
  const listen = (event: StorageEvent) => void (isSessionEvent(event) && look());
  void look();
  window.addEventListener('storage', listen);
  return () => window.removeEventListener('storage', listen);
}
