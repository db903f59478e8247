/** Creates a token and shows it once. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { addToken, type Role } from '../../api/console';
import { queryClient, useMe } from '../../api/queries';
import { Button } from '../../ui/button';
import { Code } from '../../ui/code';
import { Dialog } from '../../ui/dialog';
import { ErrorBox, Notice } from '../../ui/feedback';
import { Field, Input, Select } from '../../ui/form';
import { ROLES } from '../../ui/roles';

const DAYS = [
  { value: '1', label: '1 day' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '365 days' },
];

export function NewToken({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const [name, setName] = useState('');
  const [days, setDays] = useState('30');
  const [role, setRole] = useState<Role>('user');
  const [user, setUser] = useState('');
  const make = useMutation({
    mutationFn: () =>
      addToken({
        name: name.trim(),
        days: Number(days),
        ...(me.operates && { role }),
        ...(me.operates && user.trim() !== '' && { user: user.trim() }),
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['tokens'] }),
  });
  if (make.data !== undefined) {
    return (
      <Dialog title="Your new token" onClose={onClose}>
        <Notice kind="warn">Copy it now. It is shown only once, and the server keeps no copy.</Notice>
        <Code value={make.data.token} label="Token" />
        <p className="muted">
          Send it as <code>Authorization: Bearer …</code>. It is for {make.data.info.subject}, as {make.data.info.role}.
        </p>
        <div className="dialog-actions">
          <Button kind="primary" onClick={onClose}>
            {' '}
            Done
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New token" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate();
        }}
      >
        {make.error && <ErrorBox error={make.error} />}
        <Field label="Name" hint="What the token is for">
          <Input value={name} onChange={setName} maxLength={100} required placeholder="laptop" />
        </Field>
        <Field label="Valid for">
          <Select value={days} onChange={setDays} options={DAYS} />
        </Field>
        {me.operates && (
          <>
            <Field label="User" hint={`Empty: yourself, ${me.name}`}>
              <Input value={user} onChange={setUser} placeholder="ada@example.com" autoComplete="off" />
            </Field>
            <Field label="Role">
              <Select value={role} onChange={(next) => setRole(next as Role)} options={ROLES} />
            </Field>
          </>
        )}
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={name.trim() === '' || make.isPending}>
            {' '}
            Create token
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
