/** Who is signed in; for operators for whom they act; light or dark; out. */
import { ChevronDown, LogOut } from 'lucide-react';
import { useState } from 'react';
import type { Me } from '../api/console';
import { session, signIn, signOut } from '../api/session';
import { Avatar } from '../ui/avatar';
import { Button } from '../ui/button';
import { Field, Input, Select } from '../ui/form';
import { setTheme, theme, type Theme } from './theme';

export function UserMenu({ me }: { me: Me }) {
  const [look, setLook] = useState<Theme>(theme());
  const who = me.userId ?? me.name;
  return (
    <details className="user-menu">
      <summary>
        {/* On a phone the name is not seen, and the button would have none. */}
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
        <Field label="Colours">
          <Select
            value={look}
            onChange={(next) => {
              setLook(next as Theme);
              setTheme(next as Theme);
            }}
            options={[
              { value: 'system', label: 'As the system' },
              { value: 'light', label: 'Light' },
              { value: 'dark', label: 'Dark' },
            ]}
          />
        </Field>
        <Button onClick={signOut} icon={<LogOut size={16} aria-hidden />}>
          {me.authMode === 'dev' ? 'Another user' : 'Sign out'}
        </Button>
      </div>
    </details>
  );
}

/** An operator sees pages for users as somebody. */
function ActFor() {
  const current = session();
  const [user, setUser] = useState(current?.kind === 'token' ? (current.actingFor ?? '') : '');
  if (current?.kind !== 'token') return null;
  const go = () => {
    const { actingFor: _, ...own } = current;
    signIn(user.trim() === '' ? own : { ...own, actingFor: user.trim() }, localStorage.getItem('toolyard.session') !== null);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        go();
      }}
    >
      <Field label="Act for" hint="Empty: for yourself">
        <Input value={user} onChange={setUser} placeholder="ada@example.com" />
      </Field>
      <Button type="submit">Apply</Button>
    </form>
  );
}
