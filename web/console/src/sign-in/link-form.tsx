/** Signs in with a one-time link. Only on a press: previews of messages open links too, and would use it up. */
import { cookieSession, signIn } from '../api/session';
import { signInWithLink } from '../api/sign-in';
import { Button } from '../ui/button';
import { ErrorBox } from '../ui/feedback';
import { forgetLinkCode } from './link-code';
import { useSignIn } from './methods';
import { rememberReturn } from './return-path';

/** Here the user can add another way to sign in. */
const ACCOUNT_PAGE = '/console/settings?tab=account';

/** `signedInAs`: the user who uses the console now. */
export function LinkSignIn({ code, signedInAs }: { code: string; signedInAs?: string }) {
  const { enter, failure, busy } = useSignIn(({ userId }) => {
    rememberReturn(ACCOUNT_PAGE);
    forgetLinkCode();
    signIn(cookieSession(userId), true);
  });
  return (
    <>
      <p>You opened a sign-in link. It works once, for the account that it was made for.</p>
      {signedInAs !== undefined && (
        <p>You are signed in as {signedInAs} now. If the link is for another account, you switch to that account.</p>
      )}
      {failure !== undefined && <ErrorBox error={failure.text} />}
      <Button kind="primary" aria-disabled={busy} onClick={() => void (busy || enter('link', () => signInWithLink(code)))}>
        {busy ? 'Signing in …' : 'Sign in'}
      </Button>
    </>
  );
}
