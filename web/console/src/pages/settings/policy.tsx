/** The server's plugin policy. Read-only: it is set in the configuration file. */
import { useQuery } from '@tanstack/react-query';
import { getPluginPolicy } from '../../api/console';
import { Code } from '../../ui/code';
import { Badge, ErrorBox, Loading } from '../../ui/feedback';
import { Card } from '../../ui/page';
import { bytes } from '../../ui/time';

const LIMITS: Record<string, { name: string; format: (value: number) => string }> = {
  perUser: { name: 'Plugins of one user', format: String },
  manifestBytes: { name: 'Size of a plugin', format: bytes },
  memoryBytes: { name: 'Memory of a run', format: bytes },
  timeMs: { name: 'Time of a run', format: ms },
  computeMs: { name: 'CPU time of a run', format: ms },
  storageBytes: { name: 'Storage of a plugin', format: bytes },
  storageKeys: { name: 'Storage keys of a plugin', format: String },
};

function ms(value: number): string {
  return value < 1_000 ? `${value} ms` : `${value / 1_000} s`;
}

export function Policy() {
  const policy = useQuery({ queryKey: ['plugins', 'policy'], queryFn: getPluginPolicy });
  if (policy.isPending) return <Loading what="the policy" />;
  if (policy.data === undefined) return <ErrorBox error={policy.error} onRetry={() => void policy.refetch()} />;
  const { enabled, rootKey, keyListNumber, revocationsNumber, curator, allowUnsigned, limits } = policy.data;
  return (
    <>
      <p className="muted">These rules are set in the server's configuration file under [plugins].</p>
      <Card title="On the server" actions={<Badge kind={enabled ? 'good' : 'plain'}>{enabled ? 'on' : 'off'}</Badge>}>
        <p className="flat">
          {enabled
            ? 'Users can run plugins on this server, each in its own sandbox.'
            : 'This server does not run plugins. They can still run in the browser.'}
        </p>
      </Card>
      <Card title="Trusted keys">
        {rootKey == null ? (
          <p className="flat">No root key is set, so no signature is trusted: every plugin counts as unsigned.</p>
        ) : (
          <>
            <p>A plugin is trusted if its key is on the key list that this root key signed.</p>
            <Code value={rootKey} label="Root key" />
            <p className="muted below">
              {keyListNumber == null ? 'No key list yet.' : `Key list number ${keyListNumber}.`}{' '}
              {revocationsNumber == null ? 'Nothing is revoked.' : `Revocation list number ${revocationsNumber}.`}
            </p>
          </>
        )}
        <p className="flat">
          {curator == null
            ? 'This server does not sign plugins.'
            : `“${curator.name}” signs plugins on this server, with the key ${curator.keyId}.`}
        </p>
      </Card>
      <Card title="Unsigned plugins">
        {allowUnsigned.length === 0 ? (
          <p className="flat">None can run on the server. In the browser, each user decides for each plugin.</p>
        ) : (
          <>
            <p>Only these can run on the server, with exactly this content:</p>
            <ul className="plain-list reasons">
              {allowUnsigned.slice(0, 100).map((one) => (
                <li key={`${one.id} ${one.hash}`}>
                  <strong>{one.id}</strong> <code>{one.hash}</code>
                </li>
              ))}
            </ul>
          </>
        )}
      </Card>
      <Card title="Limits">
        <dl className="facts">
          {Object.entries(limits).map(([key, value]) => (
            <div key={key}>
              <dt>{LIMITS[key]?.name ?? key}</dt>
              <dd>{(LIMITS[key]?.format ?? String)(value)}</dd>
            </div>
          ))}
        </dl>
      </Card>
    </>
  );
}
