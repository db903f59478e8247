/** Asks for a token, or in dev mode for whom the console is used. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { getUsers } from '../api/console';
import { refusedBy, told } from '../api/error';
import { signIn, type Session } from '../api/session';
import { Button } from '../ui/button';
import { Field, Input } from '../ui/form';
import { Notice } from '../ui/feedback';

export function SignIn({ mode }: { mode: 'dev' | 'token' }) {
  return (
    <main className="sign-in" id="main">
      <img src="/console/icon.svg" alt="" width="44" height="44" />
      <h1>Toolyard</h1>
      {mode === 'dev' ? <PickUser /> : <EnterToken />}
    </main>
  );
}

function PickUser() {
  const [user, setUser] = useState('');
  const known = useQuery({ queryKey: ['users', ''], queryFn: () => getUsers() });
  return (
    <>
      <p>This server is in dev mode: it believes everybody on this machine. For whom do you want to use it?</p>
      {(known.data?.users.length ?? 0) > 0 && (
        <ul className="pick" aria-label="Known users">
          {known.data?.users.slice(0, 12).map((one) => (
            <li key={one.userId}>
              <button type="button" className="pick-user" onClick={() => signIn({ kind: 'dev', user: one.userId }, true)}>
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
          if (user.trim() !== '') signIn({ kind: 'dev', user: user.trim() }, true);
        }}
      >
        <Field label="User" hint="An email address, or any name">
          <Input value={user} onChange={setUser} autoComplete="username" placeholder="ada@example.com" />
        </Field>
        <Button type="submit" kind="primary" disabled={user.trim() === ''}>
          Go on
        </Button>
      </form>
    </>
  );
}

function EnterToken() {
  const [token, setToken] = useState('');
  const [remember, setRemember] = useState(false);
  const [wrong, setWrong] = useState<string>();
  const [busy, setBusy] = useState(false);
  async function enter() {
    const next: Session = { kind: 'token', token: token.trim() };
    setBusy(true);
    try {
      // Asked before it is kept: what the server does not believe is not signed in.
      const response = await fetch('/api/me', { headers: { Authorization: `Bearer ${next.token}` } });
      if (!response.ok) throw await refusedBy(response);
      signIn(next, remember);
    } catch (error) {
      setWrong(told(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void enter();
      }}
    >
      <p>
        Sign in with a token. Whoever runs the server makes one with <code>toolyard token user you@example.com</code>.
      </p>
      <Field label="Token" error={wrong}>
        <Input type="password" value={token} onChange={setToken} autoComplete="current-password" />
      </Field>
      <label className="check">
        <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} />
        Stay signed in on this device
      </label>
      <Button type="submit" kind="primary" disabled={token.trim() === '' || busy}>
        Sign in
      </Button>
      {busy && <Notice>Asking the server …</Notice>}
    </form>
  );
}
