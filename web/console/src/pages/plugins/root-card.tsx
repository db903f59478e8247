/** Whom this browser believes, and the question when the server names somebody else. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { told } from '../../api/error';
import { believe, trustQuery } from '../../plugins/roots';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { Notice } from '../../ui/feedback';
import { Card } from '../../ui/page';
import { fullTime } from '../../ui/time';
import { toastError } from '../../ui/toast';

export function RootNotice() {
  const { data: trust, error } = useQuery(trustQuery);
  const [asking, setAsking] = useState(false);
  if (trust === undefined) return error === null ? null : <Notice kind="bad">{told(error)}</Notice>;
  const { otherRoot, root, problem } = trust;
  return (
    <>
      {otherRoot !== null && root !== null && (
        <div className="notice bad" role="alert">
          <p>
            The server names another root key now: <code>{otherRoot.id}</code>. This browser believes <code>{root.id}</code> since{' '}
            {fullTime(root.since)}, and that key did not hand over to the new one. Signed plugins of the new key are not believed, and the
            lists of before stay in force. Ask whoever runs the server before you accept it.
          </p>
          <Button small kind="danger" onClick={() => setAsking(true)}>
            Believe the new key
          </Button>
        </div>
      )}
      {problem !== null && <Notice kind="warn">{problem}</Notice>}
      {asking && otherRoot !== null && (
        <Confirm
          title="Believe another root key?"
          action="Believe it"
          danger
          onClose={() => setAsking(false)}
          onConfirm={() => {
            setAsking(false);
            void believe(otherRoot.key).catch(toastError);
          }}
        >
          <p>
            From then on everything that <code>{otherRoot.id}</code> vouches for counts as signed here. Do this only if the operator told
            you so.
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
    <Card title="Who is believed">
      {root === null ? (
        <p className="muted">This server names no root key, so no signature can be checked. Plugins are unsigned or do not run.</p>
      ) : (
        <p>
          Root key <code>{root.id}</code>, pinned {fullTime(root.since)}.{' '}
          {keys.keys.length === 0 ? 'It vouches for no keys yet.' : `It vouches for keys of: ${owners.slice(0, 8).join(', ')}.`}{' '}
          {revocations.plugins.length > 0 && `${revocations.plugins.length} plugins were called back.`}
        </p>
      )}
    </Card>
  );
}
