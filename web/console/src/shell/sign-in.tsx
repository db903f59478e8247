/** Asks for a token, or in dev mode for a user name. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { getUsers } from '../api/console';
import { hasEnded, signIn, type Session } from '../api/session';
import { Button } from '../ui/button';
import { Field, Input } from '../ui/form';
import { Notice } from '../ui/feedback';
import { fetchProfile } from './fetch-profile';
import { TokenForm, useEnter } from './token-form';

interface Props {
  mode: 'dev' | 'token';
  /** Why the user must sign in. */
  reason?: string | undefined;
}

export function SignIn({ mode, reason }: Props) {
  return (
    <main className="sign-in" id="main">
      <img src="/console/icon.svg" alt="" width="44" height="44" />
      <h1>Toolyard</h1>
      {hasEnded() && <Notice kind="warn">Your token expired or was revoked. Sign in again.</Notice>}
      {reason !== undefined && <p>{reason}</p>}
      {mode === 'dev' ? <PickUser /> : <TokenForm onEnter={(token, remember) => enterAs({ kind: 'token', token }, remember)} />}
    </main>
  );
}

async function enterAs(next: Session, remember: boolean) {
  await fetchProfile(next);
  signIn(next, remember);
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
