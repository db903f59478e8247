/** The sign-in page: with an account or a token; in dev mode by a user name. Shown in place of a page, and at its own address. */
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { SignedIn, SignInOptions } from '../api/accounts';
import { getUsers } from '../api/console';
import { cookieSession, endedKind, signIn, type Session } from '../api/session';
import { signInMethodsQuery } from '../api/sign-in';
import { forgetLinkCode, useLinkCode } from '../sign-in/link-code';
import { LinkSignIn } from '../sign-in/link-form';
import { problemText } from '../sign-in/messages';
import { AccountSignIn, Fold, offersAccounts, Or } from '../sign-in/methods';
import { returnPath } from '../sign-in/return-path';
import { Button } from '../ui/button';
import { Field, Input } from '../ui/form';
import { ErrorBox, Loading, Notice } from '../ui/feedback';
import { fetchProfile } from './fetch-profile';
import { SignInFrame } from './sign-in-frame';
import { TokenForm, useEnter } from './token-form';

interface Props {
  mode: 'dev' | 'token';
  /** Why the user must sign in. */
  reason?: string | undefined;
}

const ENDED: Readonly<Record<Session['kind'], string>> = {
  token: 'Your token expired or was revoked. Sign in again.',
  cookie: 'Your session ended. Sign in again.',
  dev: 'Your session ended. Sign in again.',
};

export function SignIn({ mode, reason }: Props) {
  const { problem, return: named } = useSearch({ strict: false });
  const code = useLinkCode();
  const ended = endedKind();
  const returnTo = returnPath(named);
  return (
    <SignInFrame>
      {ended !== null && <Notice kind="warn">{ENDED[ended]}</Notice>}
      {problem !== undefined && <ErrorBox error={problemText(problem)} />}
      {reason !== undefined ? <p>{reason}</p> : <AboutServer />}
      {code !== null ? <LinkSignIn code={code} /> : mode === 'dev' && <PickUser />}
      <OtherWays mode={mode} isFirst={code === null && mode === 'token'} returnTo={returnTo} />
    </SignInFrame>
  );
}

/** What a visitor finds here. */
function AboutServer() {
  return (
    <p className="muted">
      This server gives AI assistants such as Claude, ChatGPT and Cursor access to your tools, at one address. Sign in to install apps,
      connect your assistants, chat, and decide what each of them may do.
    </p>
  );
}

async function enterAs(next: Session, remember: boolean) {
  await fetchProfile(next);
  enter(next, remember);
}

const enterWithCookie = ({ userId }: SignedIn) => enter(cookieSession(userId), true);

function enter(next: Session, remember: boolean) {
  // The user chose another way than the link.
  forgetLinkCode();
  signIn(next, remember);
}

/** `isFirst`: whether nothing stands above them. */
function OtherWays({ mode, isFirst, returnTo }: { mode: 'dev' | 'token'; isFirst: boolean; returnTo: string }) {
  const methods = useQuery(signInMethodsQuery);
  if (methods.isPending) return isFirst ? <Loading /> : null;
  const accounts = methods.data !== undefined && offersAccounts(methods.data) ? methods.data : null;
  return (
    <>
      {methods.error && <ErrorBox error={methods.error} onRetry={() => void methods.refetch()} />}
      {accounts !== null && !isFirst && <Or />}
      {accounts !== null && <AccountSignIn methods={accounts} returnTo={returnTo} onSignedIn={enterWithCookie} />}
      {mode === 'token' && <TokenSignIn accounts={accounts} isFirst={isFirst} />}
    </>
  );
}

/** Folded away if there is another way. */
function TokenSignIn({ accounts, isFirst }: { accounts: SignInOptions | null; isFirst: boolean }) {
  const form = <TokenForm onEnter={(token, remember) => enterAs({ kind: 'token', token }, remember)} />;
  return accounts === null && isFirst ? form : <Fold title="Use a token">{form}</Fold>;
}

function PickUser() {
  const [user, setUser] = useState('');
  const { enter, wrong, busy } = useEnter();
  const go = (name: string) => enter(() => enterAs({ kind: 'dev', user: name }, true));
  const known = useQuery({ queryKey: ['users', ''], queryFn: () => getUsers() });
  return (
    <>
      <p>This server is in dev mode: anyone on this machine can sign in as any user. Choose a user.</p>
      {(known.data?.users.length ?? 0) > 0 && (
        <ul className="pick" aria-label="Known users">
          {known.data?.users.slice(0, 12).map((one) => (
            <li key={one.userId}>
              <button type="button" className="pick-user" disabled={busy} onClick={() => void go(one.userId)}>
                <strong>{one.userId}</strong>
                <span>
                  {one.apps} {one.apps === 1 ? 'app' : 'apps'}
                  {one.live && `, ${one.deviceModel ?? 'live'}`}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (user.trim() !== '') void go(user.trim());
        }}
      >
        <Field label="User" hint="An email address, or any name without spaces" error={wrong}>
          <Input value={user} onChange={setUser} autoComplete="username" placeholder="ada@example.com" />
        </Field>
        <Button type="submit" kind="primary" disabled={user.trim() === '' || busy}>
          {' '}
          Continue
        </Button>
      </form>
    </>
  );
}
