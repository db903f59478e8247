/** Creates an account, and shows its sign-in link once. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { addPerson } from '../../api/accounts';
import type { Role } from '../../api/console';
import { withFreshSignIn } from '../../sign-in/fresh';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ErrorBox, Notice } from '../../ui/feedback';
import { Check, Field, Input, Select } from '../../ui/form';
import { ROLES } from '../../ui/roles';
import { formatGroups, parseGroups } from './groups';
import { LinkDialog } from './link-dialog';
import { refetchPeople } from './refetch';

/** `userId`: for a known user who has no account yet. */
export function InviteDialog({ userId = '', onClose }: { userId?: string; onClose: () => void }) {
  const [user, setUser] = useState(userId);
  const [name, setName] = useState('');
  const [email, setEmail] = useState(userId.includes('@') ? userId : '');
  const [role, setRole] = useState<Role>('user');
  const [groups, setGroups] = useState('');
  const [withLink, setWithLink] = useState(true);
  const add = useMutation({
    mutationFn: () =>
      withFreshSignIn(() =>
        addPerson({
          userId: user.trim(),
          role,
          invite: withLink,
          ...(name.trim() !== '' && { name: name.trim() }),
          ...(email.trim() !== '' && { email: email.trim() }),
          ...(groups.trim() !== '' && { groups: parseGroups(groups) }),
        }),
      ),
    onSuccess: refetchPeople,
  });
  if (add.data !== undefined) return <Invited created={add.data} onClose={onClose} />;
  return (
    <Dialog title={userId === '' ? 'Invite a user' : `Create an account for ${userId}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (user.trim() !== '' && !add.isPending) add.mutate();
        }}
      >
        {add.error && <ErrorBox error={add.error} />}
        <Field label="User ID" hint="An email address, or any name without spaces. It cannot be changed later.">
          <Input
            value={user}
            onChange={(next) => {
              // Usually both are the same.
              if (email === user && (next.includes('@') || email === '')) setEmail(next.includes('@') ? next : '');
              setUser(next);
            }}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            placeholder="ada@example.com"
            required
            readOnly={userId !== ''}
          />
        </Field>
        <Field label="Name" hint="Optional">
          <Input value={name} onChange={setName} autoComplete="off" maxLength={200} />
        </Field>
        <Field label="Email" hint="Optional. The user can sign in with it instead of the user ID.">
          <Input type="email" value={email} onChange={setEmail} autoComplete="off" maxLength={320} />
        </Field>
        <Field label="Role">
          <Select value={role} onChange={(next) => setRole(next as Role)} options={ROLES} />
        </Field>
        <Field label="Groups" hint="Optional. Separated by commas.">
          <Input value={groups} onChange={setGroups} onBlur={() => setGroups(formatGroups(parseGroups(groups)))} autoComplete="off" />
        </Field>
        <Check label="Create a one-time sign-in link" checked={withLink} onChange={setWithLink} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={user.trim() === ''} aria-disabled={add.isPending}>
            Create account
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Invited({ created: { user, link }, onClose }: { created: Awaited<ReturnType<typeof addPerson>>; onClose: () => void }) {
  if (link != null) {
    return <LinkDialog title={`${user.userId} can now sign in`} user={user.userId} link={link} onClose={onClose} />;
  }
  return (
    <Dialog title="Account created" onClose={onClose}>
      <Notice kind="good">{user.userId} has an account now. Create a sign-in link on their page when they need one.</Notice>
      <div className="dialog-actions">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
