/** All data of the user: download, and deletion with the account. */
import { useMutation } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { deleteMyAccount, getMyData } from '../../../api/accounts';
import { signOut } from '../../../api/session';
import { withFreshSignIn } from '../../../sign-in/fresh';
import { Button } from '../../../ui/button';
import { ConfirmTyped } from '../../../ui/confirm-typed';
import { download } from '../../../ui/download';
import { Card } from '../../../ui/page';
import { toast, toastError } from '../../../ui/toast';

export function MyData({ user }: { user: string }) {
  const [asksDelete, askDelete] = useState(false);
  const save = useMutation({
    mutationFn: () => withFreshSignIn(async () => (await getMyData()).blob()),
    onSuccess: (file) => {
      download(file, `toolyard-data-${user}.json`);
      toast('The file was downloaded.');
    },
    onError: toastError,
  });
  const remove = useMutation({
    mutationFn: (typed: string) => withFreshSignIn(() => deleteMyAccount(typed)),
    onSuccess: () => {
      toast('Your account was deleted.');
      signOut();
    },
  });
  return (
    <Card title="Your data">
      <p className="muted">
        Download everything that this server stores about you as one JSON file, or delete your account with all its data.
      </p>
      <div className="row">
        <Button
          icon={<Download size={16} aria-hidden />}
          aria-disabled={save.isPending}
          onClick={() => void (save.isPending || save.mutate())}
        >
          Download my data
        </Button>
        <Button kind="danger" onClick={() => askDelete(true)}>
          Delete my account
        </Button>
      </div>
      {asksDelete && (
        <ConfirmTyped
          title="Delete your account?"
          expected={user}
          label="Your user ID"
          action="Delete my account"
          busy={remove.isPending}
          error={remove.error}
          onConfirm={(typed) => remove.mutate(typed)}
          onClose={() => askDelete(false)}
        >
          <p>
            Your account, apps, conversations, tokens, connected clients and history are deleted, and you are signed out everywhere. This
            cannot be undone.
          </p>
        </ConfirmTyped>
      )}
    </Card>
  );
}
