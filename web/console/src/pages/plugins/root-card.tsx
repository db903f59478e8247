/** The root key that this browser trusts, and a warning when the server uses another one. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { errorText } from '../../api/error';
import { trustRoot, trustQuery } from '../../plugins/roots';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { Notice } from '../../ui/feedback';
import { Card } from '../../ui/page';
import { fullTime } from '../../ui/time';
import { toastError } from '../../ui/toast';

export function RootNotice() {
  const { data: trust, error } = useQuery(trustQuery);
  const [asking, setAsking] = useState(false);
  if (trust === undefined) return error === null ? null : <Notice kind="bad">{errorText(error)}</Notice>;
  const { otherRoot, root, problem } = trust;
  return (
    <>
      {otherRoot !== null && root !== null && (
        <div className="notice bad" role="alert">
          <p>
            The server uses another root key now: <code>{otherRoot.id}</code>. This browser has trusted <code>{root.id}</code> since{' '}
            {fullTime(root.since)}, and that key did not hand over to the new one. Plugins that are signed with the new key are not trusted,
            and the previous lists stay in force. Ask the operator of the server before you accept it.
          </p>
          <Button small kind="danger" onClick={() => setAsking(true)}>
            Trust the new key
          </Button>
        </div>
      )}
      {problem !== null && <Notice kind="warn">{problem}</Notice>}
      {asking && otherRoot !== null && (
        <Confirm
          title="Trust another root key?"
          action="Trust it"
          danger
          onClose={() => setAsking(false)}
          onConfirm={() => {
            setAsking(false);
            void trustRoot(otherRoot.key).catch(toastError);
          }}
        >
          <p>
            From then on, everything that <code>{otherRoot.id}</code> vouches for counts as signed. Do this only if the operator confirmed
            it.
          </p>
        </Confirm>
      )}
    </>
  );
}

export function RootCard() {
  const { data: trust } = useQuery(trustQuery);
  if (trust === undefined) return null;
  const { root, keys, revocations } = trust;
  const owners = [...new Set(keys.keys.map(({ owner }) => owner))];
  return (
    <Card title="Trusted keys">
      {root === null ? (
        <p className="muted">This server has no root key, so no signature can be verified. Only unsigned plugins that you allow can run.</p>
      ) : (
        <p>
          Root key <code>{root.id}</code>, pinned {fullTime(root.since)}.{' '}
          {keys.keys.length === 0 ? 'It vouches for no keys yet.' : `It vouches for keys of: ${owners.slice(0, 8).join(', ')}.`}{' '}
          {revocations.plugins.length > 0 && `${revocations.plugins.length} plugins were revoked.`}
        </p>
      )}
    </Card>
  );
}
