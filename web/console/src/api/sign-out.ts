import { ApiError } from './error';
import { announceSignOut, session, sharedSession, signOut } from './session';
import { postSignOut } from './sign-in';

/**
 * Signs out. The cookie can be removed only by the server, so if the server cannot be reached, the user stays signed in and the error is
 * thrown. A token is simply forgotten; but a cookie that other tabs use ends with it, because a sign-out applies to all tabs.
 */
export async function leave(): Promise<void> {
  if (session()?.kind !== 'cookie' && sharedSession()?.kind !== 'cookie') return signOut();
  await announceSignOut();
  await postSignOut().catch((error: unknown) => {
    // The session has ended already.
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
  });
  signOut('announced');
}
