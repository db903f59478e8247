/** The user's passkeys: list, add and remove. */
import { useMutation } from '@tanstack/react-query';
import { Fingerprint } from 'lucide-react';
import { useState } from 'react';
import { removePasskey, type PasskeyInfo } from '../../../api/accounts';
import { errorText } from '../../../api/error';
import { browserLabel } from '../../../push/browser-label';
import { withFreshSignIn } from '../../../sign-in/fresh';
import { createPasskey, passkeyErrorText, supportsPasskeys } from '../../../sign-in/passkeys';
import { Button } from '../../../ui/button';
import { Confirm, Dialog } from '../../../ui/dialog';
import { ErrorBox } from '../../../ui/feedback';
import { Field, Input } from '../../../ui/form';
import { Card } from '../../../ui/page';
import { Ago } from '../../../ui/time';
import { toast, toastError } from '../../../ui/toast';
import { refetchAccount } from './refetch';

export function Passkeys({ passkeys, isAvailable }: { passkeys: readonly PasskeyInfo[]; isAvailable: boolean }) {
  const [isAdding, setAdding] = useState(false);
  const [asked, ask] = useState<PasskeyInfo>();
  const remove = useMutation({
    mutationFn: ({ id }: PasskeyInfo) => withFreshSignIn(() => removePasskey(id)),
    onSuccess: (_, { name }) => toast(`The passkey “${name}” was removed.`),
    onError: toastError,
    onSettled: () => {
      ask(undefined);
      return refetchAccount();
    },
  });
  if (!isAvailable && passkeys.length === 0) return null;
  const canAdd = isAvailable && supportsPasskeys();
  return (
    <Card
      title="Passkeys"
      actions={
        canAdd && (
          <Button small icon={<Fingerprint size={16} aria-hidden />} onClick={() => setAdding(true)}>
            Add a passkey
          </Button>
        )
      }
    >
      <p className="muted">Sign in with your fingerprint, face, screen lock or security key instead of a password.</p>
      {isAvailable && !supportsPasskeys() && <p className="flat">This browser does not support passkeys.</p>}
      {passkeys.length === 0 && <p className="flat">You have no passkeys.</p>}
      <ul className="plain-list entries" aria-label="Passkeys">
        {passkeys.map((passkey) => (
          <li key={passkey.id} className="row between">
            <div className="grow">
              <h3 className="anywhere">{passkey.name}</h3>
              <p className="muted flat">
                Added <Ago at={passkey.createdAt} />,{' '}
                {passkey.lastUsedAt == null ? (
                  'never used'
                ) : (
                  <>
                    last used <Ago at={passkey.lastUsedAt} />
                  </>
                )}
              </p>
            </div>
            <Button small kind="danger" onClick={() => ask(passkey)} aria-label={`Remove ${passkey.name}`}>
              Remove
            </Button>
          </li>
        ))}
      </ul>
      {isAdding && <AddPasskey onClose={() => setAdding(false)} />}
      {asked !== undefined && (
        <Confirm
          title={`Remove “${asked.name}”?`}
          action="Remove"
          danger
          busy={remove.isPending}
          onConfirm={() => remove.mutate(asked)}
          onClose={() => ask(undefined)}
        >
          <p>You can no longer sign in with this passkey. Your device may still offer it; delete it there as well.</p>
        </Confirm>
      )}
    </Card>
  );
}

function AddPasskey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState(() => browserLabel(navigator));
  const add = useMutation({
    mutationFn: () => withFreshSignIn(() => createPasskey(name.trim())),
    onSuccess: async (passkey) => {
      toast(`The passkey “${passkey.name}” was added.`);
      onClose();
      await refetchAccount();
    },
  });
  return (
    <Dialog title="Add a passkey" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== '' && !add.isPending) add.mutate();
        }}
      >
        {add.error && <ErrorBox error={passkeyErrorText(add.error) ?? errorText(add.error)} />}
        <Field label="Name" hint="So that you recognize it in the list">
          <Input value={name} onChange={setName} maxLength={100} required />
        </Field>
        <p className="muted">Your browser then asks where to save the passkey, and for your fingerprint, face or screen lock.</p>
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={name.trim() === ''} aria-disabled={add.isPending}>
            {add.isPending ? 'Waiting for your browser …' : 'Add passkey'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
