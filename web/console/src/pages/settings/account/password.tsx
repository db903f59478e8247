/** The user's password: set, change and remove. */
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { putPassword, removePassword, SIGN_IN_FAILED, type SignInSettings } from '../../../api/accounts';
import { ApiError } from '../../../api/error';
import { withFreshSignIn } from '../../../sign-in/fresh';
import { Button } from '../../../ui/button';
import { Confirm, Dialog } from '../../../ui/dialog';
import { ErrorBox } from '../../../ui/feedback';
import { Field, focusWrong, Input } from '../../../ui/form';
import { Card } from '../../../ui/page';
import { Ago } from '../../../ui/time';
import { toast, toastError } from '../../../ui/toast';
import { MAX_PASSWORD, passwordProblem } from './password-rules';
import { refetchAccount } from './refetch';

interface Props {
  user: string;
  password: SignInSettings['password'];
  isAvailable: boolean;
}

export function Password({ user, password, isAvailable }: Props) {
  const [asked, ask] = useState<'change' | 'remove'>();
  const remove = useMutation({
    mutationFn: () => withFreshSignIn(removePassword),
    onSuccess: () => toast('Your password was removed.'),
    onError: toastError,
    onSettled: () => {
      ask(undefined);
      return refetchAccount();
    },
  });
  if (!isAvailable && password == null) return null;
  return (
    <Card title="Password">
      <div className="row between">
        <p className="flat">
          {password == null ? (
            'You have no password.'
          ) : (
            <>
              Changed <Ago at={password.changedAt} />.
            </>
          )}
        </p>
        <div className="row">
          {isAvailable && (
            <Button small onClick={() => ask('change')}>
              {password == null ? 'Set a password' : 'Change password'}
            </Button>
          )}
          {password != null && (
            <Button small kind="danger" onClick={() => ask('remove')}>
              Remove password
            </Button>
          )}
        </div>
      </div>
      {asked === 'change' && <PasswordDialog user={user} hasPassword={password != null} onClose={() => ask(undefined)} />}
      {asked === 'remove' && (
        <Confirm
          title="Remove your password?"
          action="Remove password"
          danger
          busy={remove.isPending}
          onConfirm={() => remove.mutate()}
          onClose={() => ask(undefined)}
        >
          <p>You can then sign in only in the other ways that your account has.</p>
        </Confirm>
      )}
    </Card>
  );
}

function PasswordDialog({ user, hasPassword, onClose }: { user: string; hasPassword: boolean; onClose: () => void }) {
  const form = useRef<HTMLFormElement>(null);
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [repeated, setRepeated] = useState('');
  const [isChecked, setChecked] = useState(false);
  const problem = passwordProblem(next, user);
  const isDifferent = repeated !== next;
  const save = useMutation({
    mutationFn: () => withFreshSignIn(() => putPassword({ password: next, ...(current !== '' && { current }) })),
    onSuccess: async () => {
      toast(`${hasPassword ? 'Your password was changed' : 'Your password was set'}. Other browsers were signed out.`);
      onClose();
      await refetchAccount();
    },
  });
  const isWrong = save.error instanceof ApiError && save.error.code === SIGN_IN_FAILED;
  function submit() {
    setChecked(true);
    if (problem !== undefined || isDifferent) focusWrong(form.current);
    else if (!save.isPending) save.mutate();
  }
  return (
    <Dialog title={hasPassword ? 'Change password' : 'Set a password'} onClose={onClose}>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {save.error && !isWrong && <ErrorBox error={save.error} />}
        {/* For password managers. */}
        <input className="hidden" type="text" autoComplete="username" value={user} readOnly tabIndex={-1} aria-hidden />
        {hasPassword && (
          <Field
            label="Current password"
            hint="Not needed if you signed in within the last 15 minutes"
            error={isWrong ? 'This is not your current password. Type it again.' : undefined}
          >
            <Input type="password" value={current} onChange={setCurrent} autoComplete="current-password" />
          </Field>
        )}
        <Field label="New password" hint="At least 12 characters" error={isChecked ? problem : undefined}>
          <Input type="password" value={next} onChange={setNext} autoComplete="new-password" maxLength={MAX_PASSWORD} />
        </Field>
        <Field
          label="Repeat the new password"
          error={isChecked && problem === undefined && isDifferent ? 'The passwords differ. Type the same one twice.' : undefined}
        >
          <Input type="password" value={repeated} onChange={setRepeated} autoComplete="new-password" maxLength={MAX_PASSWORD} />
        </Field>
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" aria-disabled={save.isPending}>
            {hasPassword ? 'Change password' : 'Set password'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
