/** The token input: on the sign-in page, and above a page whose token lapsed. */
import { useState, type ReactNode } from 'react';
import { errorText } from '../api/error';
import { Button } from '../ui/button';
import { Field, Input } from '../ui/form';
import { Notice } from '../ui/feedback';

interface Props {
  /** Whether the token is stored on the device, as far as known. */
  remembered?: boolean;
  onEnter: (token: string, remember: boolean) => Promise<void>;
  /** Other actions. */
  children?: ReactNode;
}

export function TokenForm({ remembered = false, onEnter, children }: Props) {
  const [token, setToken] = useState('');
  const [remember, setRemember] = useState(remembered);
  const { enter, wrong, busy } = useEnter();
  return (
    <form
      className="token-form"
      onSubmit={(event) => {
        event.preventDefault();
        void enter(() => onEnter(token.trim(), remember));
      }}
    >
      <p>
        Sign in with a token. The operator of the server creates one with <code>toolyard token user you@example.com</code>.
      </p>
      <Field label="Token" error={wrong}>
        <Input type="password" value={token} onChange={setToken} autoComplete="current-password" />
      </Field>
      <label className="check">
        <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} />
        Stay signed in on this device
      </label>
      <div className="token-actions">
        <Button type="submit" kind="primary" disabled={token.trim() === '' || busy}>
          Sign in
        </Button>
        {children}
      </div>
      {busy && <Notice>Checking …</Notice>}
    </form>
  );
}

/** Signs in if the server accepts the token; otherwise returns the error. */
export function useEnter() {
  const [wrong, setWrong] = useState<string>();
  const [busy, setBusy] = useState(false);
  async function enter(work: () => Promise<void>) {
    setBusy(true);
    try {
      await work();
    } catch (error) {
      setWrong(errorText(error));
    } finally {
      setBusy(false);
    }
  }
  return { enter, wrong, busy };
}
