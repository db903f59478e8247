import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { queryClient } from '../../api/queries';
import { removeUpstreamAccess, upstreamAccessQuery } from '../../api/upstream-access';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { toast, toastError } from '../../ui/toast';

export function RemoveAccess({ id, name, user }: { id: string; name: string; user: string }) {
  const [asked, ask] = useState(false);
  const { queryKey } = upstreamAccessQuery(id);
  const remove = useMutation({
    mutationFn: () => removeUpstreamAccess(id),
    onSuccess: async () => {
      // A response that is on its way may be older.
      await queryClient.cancelQueries({ queryKey });
      queryClient.setQueryData(queryKey, (before) => before && { ...before, authorized: false });
      toast(`The access to ${name} was removed.`);
    },
    onError: toastError,
    onSettled: () => {
      ask(false);
      return queryClient.invalidateQueries({ queryKey });
    },
  });
  return (
    <>
      <Button kind="quiet" onClick={() => ask(true)}>
        Remove access
      </Button>
      {asked && (
        <Confirm
          title={`Remove the access to ${name}?`}
          action="Remove access"
          danger
          busy={remove.isPending}
          onConfirm={() => remove.mutate()}
          onClose={() => ask(false)}
        >
          <p className="anywhere">
            Toolyard deletes the access that it keeps for <strong>{user}</strong>. Calls that need it wait until you sign in again.
          </p>
        </Confirm>
      )}
    </>
  );
}
