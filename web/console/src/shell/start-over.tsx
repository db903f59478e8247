/** Another user starts: the console is reloaded, so that nothing of the previous user stays in memory. */
import { useEffect } from 'react';
import { signIn, type Session } from '../api/session';
import { Loading } from '../ui/feedback';

export interface Next {
  session: Session;
  remember: boolean;
  /** Whether the page does not belong to the previous user, and is opened again. */
  keepsPage: boolean;
}

/** Replaces the page, so that it does not ask about unsaved changes. */
export function StartOver({ next }: { next: Next }) {
  useEffect(() => {
    // A browser may keep this document for the back button.
    window.addEventListener('pageshow', (event) => event.persisted && window.location.reload());
    signIn(next.session, next.remember);
    if (next.keepsPage) window.location.reload();
    else window.location.replace(import.meta.env.BASE_URL);
  }, [next]);
  return <Loading what="Toolyard" />;
}
