/** All data of a user: download, and deletion with the account. */
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { deletePerson, getPersonData } from '../../api/accounts';
import { useMe } from '../../api/queries';
import { withFreshSignIn } from '../../sign-in/fresh';
import { Button } from '../../ui/button';
import { ConfirmTyped } from '../../ui/confirm-typed';
import { download } from '../../ui/download';
import { Card } from '../../ui/page';
import { toast, toastError } from '../../ui/toast';
import { refetchPeople } from './refetch';

export function PersonData({ user }: { user: string }) {
  const me = useMe();
  const navigate = useNavigate();
  const [asksDelete, askDelete] = useState(false);
  const save = useMutation({
    mutationFn: () => withFreshSignIn(async () => (await getPersonData(user)).blob()),
    onSuccess: (file) => {
      download(file, `toolyard-data-${user}.json`);
      toast('The file was downloaded.');
    },
    onError: toastError,
  });
  const remove = useMutation({
    mutationFn: (typed: string) => withFreshSignIn(() => deletePerson(user, typed)),
    onSuccess: async () => {
      toast(`${user} was deleted.`);
      await navigate({ to: '/people', ignoreBlocker: true });
      await refetchPeople();
    },
  });
  const isSelf = me.name === user;
  return (
    <Card title="Data">
      <p className="muted">Everything that this server stores about the user, as one JSON file.</p>
      <div className="row">
        <Button
          icon={<Download size={16} aria-hidden />}
          aria-disabled={save.isPending}
          onClick={() => void (save.isPending || save.mutate())}
        >
          Download the data
        </Button>
        {!isSelf && (
          <Button kind="danger" onClick={() => askDelete(true)}>
            Delete the user
          </Button>
        )}
      </div>
      {isSelf && (
        <p className="muted flat below">
          This is you. Manage your own account in{' '}
          <Link to="/settings" search={{ tab: 'account' }}>
            Settings
          </Link>
          .
        </p>
      )}
      {asksDelete && (
        <ConfirmTyped
          title={`Delete ${user}?`}
          expected={user}
          label="User ID"
          action="Delete the user"
          busy={remove.isPending}
          error={remove.error}
          onConfirm={(typed) => remove.mutate(typed)}
          onClose={() => askDelete(false)}
        >
          <p>
            The account, apps, conversations, tokens, connected clients and history of this user are deleted, and all their sessions end.
            This cannot be undone.
          </p>
        </ConfirmTyped>
      )}
    </Card>
  );
}
