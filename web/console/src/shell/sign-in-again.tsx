/**
 * Above a page whose token lapsed. The page stays as it is, with all that was typed, until its user has a new token; it cannot
 * be gone back to without one.
 */
import { useEffect } from 'react';
import type { Me } from '../api/console';
import { isOfSession, isRemembered, keptForAll, renew, session, signOut, type Session } from '../api/session';
import { Button } from '../ui/button';
import { Dialog } from '../ui/dialog';
import { Notice } from '../ui/feedback';
import { comeBack } from './again';
import { believed } from './believed';
import { TokenForm } from './token-form';

interface Props {
  me: Me;
  /** Somebody else is signing in. */
  onOther: (next: Session, remember: boolean) => void;
}

export function SignInAgain({ me, onOther }: Props) {
  async function enter(token: string, remember: boolean) {
    const before = session();
    const back = await comeBack(token, before, me, believed);
    // Signed out in another tab meanwhile.
    if (session() !== before) return;
    if (back.isSame) renew(back.session, remember);
    else onOther(back.session, remember);
  }
  useEffect(() => followOtherTabs(me), [me]);
  const who = me.userId ?? me.name;
  return (
    <Dialog title="Sign in again">
      <Notice kind="warn">
        Your token ended or was revoked. Nothing that you typed is lost: go on as {who} with a new one. Whoever signs in as somebody else
        starts afresh.
      </Notice>
      <TokenForm remembered={isRemembered()} onEnter={enter}>
        <Button onClick={() => signOut()}>Sign out</Button>
      </TokenForm>
    </Dialog>
  );
}

/** A new token that another tab has kept for all of them does for this one too, if it is the same user's. */
function followOtherTabs(me: Me): () => void {
  async function look() {
    const [before, kept] = [session(), keptForAll()];
    if (!isRemembered() || before?.kind !== 'token' || kept?.kind !== 'token' || kept.token === before.token) return;
    const back = await comeBack(kept.token, before, me, believed).catch(() => null);
    if (back?.isSame === true && session() === before) renew(back.session, true);
  }
  const listen = (event: StorageEvent) => void (isOfSession(event) && look());
  void look();
  window.addEventListener('storage', listen);
  return () => window.removeEventListener('storage', listen);
}
