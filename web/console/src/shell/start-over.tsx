/** Somebody else begins: the console is loaded anew, so that nothing of the user before stays in its memory. */
import { useEffect } from 'react';
import { signIn, type Session } from '../api/session';
import { Loading } from '../ui/feedback';

export interface Next {
  session: Session;
  remember: boolean;
}

/** Takes the place of the page, which so asks nobody about what it had not saved. */
export function StartOver({ next }: { next: Next }) {
  useEffect(() => {
    // A browser may keep this document to go back to.
    window.addEventListener('pageshow', (event) => event.persisted && window.location.reload());
    signIn(next.session, next.remember);
    window.location.replace(import.meta.env.BASE_URL);
  }, [next]);
  return <Loading what="Toolyard" />;
}
