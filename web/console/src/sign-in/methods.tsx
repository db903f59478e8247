/** Ways to sign in with an account: issuers, passkeys, and a password. The server sets a cookie for each of them. */
import { ExternalLink, Fingerprint, LogIn } from 'lucide-react';
import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react';
import type { SignedIn, IssuerInfo, SignInMethod, SignInOptions } from '../api/accounts';
import { signInWithPassword } from '../api/sign-in';
import { Button } from '../ui/button';
import { Field, Input } from '../ui/form';
import { signInErrorText } from './messages';
import { offersInFields, signInByPasskey, supportsPasskeys } from './passkeys';
import { issuerUrl, rememberReturn, SIGN_IN_PATH } from './return-path';

/** Whether there is any way to sign in besides a token. */
export const offersAccounts = ({ passwords, passkeys, issuers }: SignInOptions) =>
  passwords || (passkeys && supportsPasskeys()) || issuers.length > 0;

interface Props {
  methods: SignInOptions;
  /** The account, if it is known. */
  account?: string;
  /** Where an issuer returns to. Without it, issuers open in a new tab, and this page waits. */
  returnTo?: string;
  /** The server has set the cookie. */
  onSignedIn: (who: SignedIn) => Promise<void> | void;
}

export function AccountSignIn({ methods, account = '', returnTo, onSignedIn }: Props) {
  const { enter, failure, busy } = useSignIn(onSignedIn);
  const hasPasskeys = methods.passkeys && supportsPasskeys();
  const suggestions = usePasskeySuggestions(hasPasskeys && methods.passwords, onSignedIn);
  const byPasskey = async () => {
    suggestions.pause();
    await enter('passkey', () => signInByPasskey(new AbortController().signal));
    suggestions.resume();
  };
  return (
    <div className="sign-in-methods">
      {methods.issuers.map((issuer) => (
        <IssuerLink key={issuer.id} issuer={issuer} returnTo={returnTo} />
      ))}
      {hasPasskeys && (
        <Button icon={<Fingerprint size={17} aria-hidden />} aria-disabled={busy} onClick={() => void (busy || byPasskey())}>
          Sign in with a passkey
        </Button>
      )}
      {failure?.method === 'passkey' && (
        <p className="error-text" role="alert">
          {failure.text}
        </p>
      )}
      {methods.passwords && (
        <>
          {(methods.issuers.length > 0 || hasPasskeys) && <Or />}
          <PasswordForm
            account={account}
            error={failure?.method === 'password' ? failure.text : undefined}
            busy={busy}
            onEnter={(user, password) => enter('password', () => signInWithPassword(user, password))}
          />
        </>
      )}
    </div>
  );
}

export function Or() {
  return (
    <p className="or" aria-hidden>
      or
    </p>
  );
}

function IssuerLink({ issuer, returnTo }: { issuer: IssuerInfo; returnTo: string | undefined }) {
  if (returnTo === undefined) {
    return (
      <a className="button" href={issuerUrl(issuer.id, `${SIGN_IN_PATH}?done=yes`)} target="_blank" rel="noopener">
        <ExternalLink size={17} aria-hidden />
        Continue with {issuer.name} in a new tab
      </a>
    );
  }
  return (
    <a className="button" href={issuerUrl(issuer.id, returnTo)} onClick={() => rememberReturn(returnTo)}>
      <LogIn size={17} aria-hidden />
      Continue with {issuer.name}
    </a>
  );
}

interface PasswordProps {
  account: string;
  error: string | undefined;
  busy: boolean;
  onEnter: (user: string, password: string) => Promise<void>;
}

function PasswordForm({ account, error, busy, onEnter }: PasswordProps) {
  const form = useRef<HTMLFormElement>(null);
  const [user, setUser] = useState(account);
  const [password, setPassword] = useState('');
  const [isIncomplete, setIncomplete] = useState(false);
  useEffect(() => {
    // In a dialog whose user is known, the password is what is missing.
    if (account !== '') form.current?.querySelector<HTMLInputElement>('input[type=password]')?.focus();
  }, [account]);
  function submit() {
    // Browsers may fill in the fields without events.
    const typed = new FormData(form.current ?? undefined);
    const [name, secret] = [String(typed.get('username') ?? '').trim(), String(typed.get('password') ?? '')];
    const isMissing = name === '' || secret === '';
    setIncomplete(isMissing);
    if (!isMissing && !busy) void onEnter(name, secret);
  }
  return (
    <form
      ref={form}
      className="password-form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Field label="Account" hint="Your email address or user ID">
        <Input name="username" value={user} onChange={setUser} autoComplete="username webauthn" autoCapitalize="none" spellCheck={false} />
      </Field>
      <Field label="Password" error={isIncomplete ? 'Enter your account and your password.' : error}>
        <Input name="password" type="password" value={password} onChange={setPassword} autoComplete="current-password" />
      </Field>
      <Button type="submit" kind="primary" aria-disabled={busy}>
        {busy ? 'Signing in …' : 'Sign in'}
      </Button>
    </form>
  );
}

interface Failure {
  method: SignInMethod;
  text: string;
}

/** Runs one sign-in at a time and keeps its error. */
export function useSignIn(onSignedIn: Props['onSignedIn']) {
  const [failure, setFailure] = useState<Failure>();
  const [busy, setBusy] = useState(false);
  async function enter(method: SignInMethod, work: () => Promise<SignedIn>) {
    setBusy(true);
    setFailure(undefined);
    try {
      await onSignedIn(await work());
    } catch (error) {
      setFailure({ method, text: signInErrorText(error, method) });
    } finally {
      setBusy(false);
    }
  }
  return { enter, failure, busy };
}

/** A challenge is valid for a few minutes, and a sign-in page may stay open for hours. */
const CHALLENGE_MS = 4 * 60_000;

/** The browser offers passkeys among the suggestions of the account field. Errors are not shown: the user has not asked for anything. */
function usePasskeySuggestions(isOn: boolean, onSignedIn: Props['onSignedIn']) {
  const [isPaused, setPaused] = useState(false);
  const [round, setRound] = useState(0);
  const running = useRef<AbortController>(undefined);
  const done = useRef(onSignedIn);
  useEffect(() => {
    done.current = onSignedIn;
  });
  useEffect(() => {
    if (!isOn || isPaused) return;
    const stop = new AbortController();
    running.current = stop;
    const timer = setTimeout(() => setRound(round + 1), CHALLENGE_MS);
    void (async () => {
      if (!(await offersInFields()) || stop.signal.aborted) return;
      const who = await signInByPasskey(stop.signal, 'conditional');
      await done.current(who);
    })().catch(() => undefined);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [isOn, isPaused, round]);
  const pause = useCallback(() => {
    // At once: the browser runs only one request for a passkey at a time.
    running.current?.abort();
    setPaused(true);
  }, []);
  const resume = useCallback(() => setPaused(false), []);
  return { pause, resume };
}

/** Other ways, folded away. */
export function Fold({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details className="fold">
      <summary>{title}</summary>
      {children}
    </details>
  );
}
