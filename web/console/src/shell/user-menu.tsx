/** The signed-in user; for operators the user they act for; theme; sign-out. */
import { ChevronDown, LogOut } from 'lucide-react';
import { useRef, useState } from 'react';
import type { Me } from '../api/console';
import { ApiError, errorText } from '../api/error';
import { isRemembered, lapse, ownSession, session, signIn, type Session } from '../api/session';
import { leave } from '../api/sign-out';
import { Avatar } from '../ui/avatar';
import { Button } from '../ui/button';
import { Field, Input, Select } from '../ui/form';
import { toastError } from '../ui/toast';
import { useDismiss } from '../ui/use-dismiss';
import { fetchProfile } from './fetch-profile';
import { setTheme, theme, type Theme } from './theme';

export function UserMenu({ me }: { me: Me }) {
  const [look, setLook] = useState<Theme>(theme());
  const who = me.userId ?? me.name;
  const [open, setOpen] = useState(false);
  const [whole, opener] = [useRef<HTMLDetailsElement>(null), useRef<HTMLElement>(null)];
  useDismiss({ open, onClose: () => setOpen(false), inside: [whole], opener });
  return (
    <details ref={whole} className="user-menu" open={open}>
      {/* Its state is controlled here instead of by the browser, so that everything that closes it stays in sync. */}
      <summary
        ref={opener}
        onClick={(event) => {
          event.preventDefault();
          setOpen(!open);
        }}
      >
        {/* On a phone the name is hidden, and the button would have no label. */}
        <span className="hidden">User menu</span>
        <Avatar name={who} small />
        <span className="user-name">{who}</span>
        <ChevronDown size={16} aria-hidden />
      </summary>
      <div className="menu">
        <p className="menu-who">
          <strong>{me.name}</strong>
          <span>
            {me.role}
            {me.authMode === 'dev' && ', dev mode'}
          </span>
        </p>
        {me.role === 'operator' && me.authMode === 'token' && <ActFor />}
        <Field label="Theme">
          <Select
            value={look}
            onChange={(next) => {
              setLook(next as Theme);
              setTheme(next as Theme);
            }}
            options={[
              { value: 'system', label: 'System' },
              { value: 'light', label: 'Light' },
              { value: 'dark', label: 'Dark' },
            ]}
          />
        </Field>
        <Button onClick={() => void leave().catch(toastError)} icon={<LogOut size={16} aria-hidden />}>
          {me.authMode === 'dev' ? 'Switch user' : 'Sign out'}
        </Button>
      </div>
    </details>
  );
}

/** An operator sees user pages as another user. */
function ActFor() {
  const current = session();
  const [user, setUser] = useState(current !== null && current.kind !== 'dev' ? (current.actingFor ?? '') : '');
  const [wrong, setWrong] = useState<string>();
  if (current === null || current.kind === 'dev') return null;
  const go = async () => {
    // The session may have changed since this was rendered.
    const now = session();
    if (now === null || now.kind === 'dev') return;
    const next: Session = user.trim() === '' ? ownSession(now) : { ...now, actingFor: user.trim() };
    try {
      await fetchProfile(next);
      setWrong(undefined);
      signIn(next, isRemembered());
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) lapse(now);
      else setWrong(errorText(error));
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void go();
      }}
    >
      <Field label="Act for" hint="Empty: for yourself" error={wrong}>
        <Input value={user} onChange={setUser} placeholder="ada@example.com" />
      </Field>
      <Button type="submit">Apply</Button>
    </form>
  );
}
