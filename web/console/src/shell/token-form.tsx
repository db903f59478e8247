/** Where a token is entered: on the page where nobody is signed in, and above a page whose token lapsed. */
import { useState, type ReactNode } from 'react';
import { told } from '../api/error';
import { Button } from '../ui/button';
import { Field, Input } from '../ui/form';
import { Notice } from '../ui/feedback';

interface Props {
  /** Whether it is to be kept on the device, as far as is known. */
  remembered?: boolean;
  onEnter: (token: string, remember: boolean) => Promise<void>;
  /** What else can be done. */
  children?: ReactNode;
}

export function TokenForm({ remembered = false, onEnter, children }: Props) {
  const [token, setToken] = useState('');
  const [remember, setRemember] = useState(remembered);
  const { enter, wrong, busy } = useEnter();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void enter(() => onEnter(token.trim(), remember));
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
      <div className="token-actions">
        <Button type="submit" kind="primary" disabled={token.trim() === '' || busy}>
          Sign in
        </Button>
        {children}
      </div>
      {busy && <Notice>Asking the server …</Notice>}
    </form>
  );
}

/** Signs in whom the server believes; else says why not. */
export function useEnter() {
  const [wrong, setWrong] = useState<string>();
  const [busy, setBusy] = useState(false);
  async function enter(work: () => Promise<void>) {
    setBusy(true);
    try {
      await work();
    } catch (error) {
      setWrong(told(error));
    } finally {
      setBusy(false);
    }
  }
  return { enter, wrong, busy };
}
