/** Shows a plugin and its permissions before it is installed. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { errorText } from '../../api/error';
import { useMe } from '../../api/queries';
import { install, review, type Review } from '../../plugins/install';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { Badge, Loading, Notice } from '../../ui/feedback';
import { Check, Field, Select } from '../../ui/form';
import { toast } from '../../ui/toast';
import { describeChanges } from './changes';
import { PermissionList } from './permission-list';
import { installOnServer, SERVER_PLUGINS } from './server-api';
import { TrustBadge } from './trust-badge';

export type Target = 'browser' | 'server';

interface Props {
  text: string;
  first: Target;
  onClose: () => void;
  onInstalled: (target: Target) => void;
}

export function ReviewDialog({ text, first, onClose, onInstalled }: Props) {
  const me = useMe();
  const { data, error } = useQuery({ queryKey: ['plugin-review', text], queryFn: () => review(text, me.version), gcTime: 0, retry: false });
  return (
    <Dialog
      title={data === undefined ? 'A plugin' : `${data.before === null ? 'Install' : 'Update'} ${data.manifest.name}?`}
      onClose={onClose}
      wide
    >
      {error !== null && <Problems error={error} onClose={onClose} />}
      {error === null && data === undefined && <Loading what="the plugin" />}
      {data !== undefined && <Looked review={data} text={text} first={first} onClose={onClose} onInstalled={onInstalled} />}
    </Dialog>
  );
}

function Problems({ error, onClose }: { error: unknown; onClose: () => void }) {
  return (
    <>
      <Notice kind="bad">{errorText(error)}</Notice>
      <div className="dialog-actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </>
  );
}

function Looked({ review: it, text, first, onClose, onInstalled }: Props & { review: Review }) {
  const me = useMe();
  const client = useQueryClient();
  const [target, setTarget] = useState<Target>(first);
  const [unsigned, setUnsigned] = useState(false);
  const [changes, setChanges] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<string>();
  const { manifest, verdict, change } = it;
  const isUnsigned = verdict.status === 'unsigned';
  const here = target === 'browser';
  const obstacles = here ? it.obstacles : [];
  const asks = verdict.covers === 'tools' ? verdict.permissions : manifest.permissions;
  const ready = obstacles.length === 0 && (!isUnsigned || unsigned || !here) && (!it.changeAsks || changes || !here);
  async function go() {
    setBusy(true);
    setFailed(undefined);
    try {
      if (here) install(it);
      else await installOnServer(text, manifest.permissions, changes);
      if (!here) await client.invalidateQueries({ queryKey: SERVER_PLUGINS });
      toast(`${manifest.name} was installed.`);
      onInstalled(target);
      onClose();
    } catch (error) {
      setFailed(errorText(error));
      setBusy(false);
    }
  }
  return (
    <>
      <div className="row">
        <TrustBadge status={verdict.status} owner={verdict.owner} />
        <Badge>{manifest.version}</Badge>
        <span className="muted">
          {manifest.publisher === null ? 'No publisher' : `Claims to be by ${manifest.publisher}`} · <code>{manifest.id}</code>
        </span>
      </div>
      {manifest.description !== '' && <p className="plugin-about">{manifest.description.slice(0, 600)}</p>}
      {obstacles.map((words) => (
        <Notice key={words} kind="bad">
          <p>{words}</p>
        </Notice>
      ))}
      {verdict.covers === 'tools' && (
        <Notice kind="warn">The signature has the older format and covers only the tools, so the plugin gets no permissions.</Notice>
      )}
      <h3>{asks === manifest.permissions ? 'Requested permissions' : 'Permissions'}</h3>
      <PermissionList permissions={asks} none="None: no network, no storage, no clock." />
      <h3>Tools</h3>
      <ul className="tool-names">
        {manifest.tools.map((tool) => (
          <li key={tool.name}>
            <code>{tool.name}</code> <span className="muted">{tool.description.slice(0, 160)}</span>
          </li>
        ))}
      </ul>
      {change !== null && describeChanges(change).length > 0 && (
        <>
          <h3>Changes</h3>
          <ul className="plugin-changes">
            {describeChanges(change).map((words) => (
              <li key={words}>{words}</li>
            ))}
          </ul>
        </>
      )}
      {me.plugins.enabled && (
        <Field
          label="Where it runs"
          hint={here ? 'For chats of this console, in this browser only.' : 'For all your chats and your assistant, on every device.'}
        >
          <Select
            value={target}
            onChange={(value) => setTarget(value as Target)}
            options={[
              { value: 'browser', label: 'In this browser' },
              { value: 'server', label: 'On the server' },
            ]}
          />
        </Field>
      )}
      {here && isUnsigned && obstacles.length === 0 && (
        <Notice kind="warn">
          <p>This plugin is not signed. Its description may be wrong, and no curator has reviewed its code.</p>
          <Check label="I trust its source; let it run unsigned" checked={unsigned} onChange={setUnsigned} />
        </Notice>
      )}
      {it.changeAsks && obstacles.length === 0 && <Check label="I agree to the changes" checked={changes} onChange={setChanges} />}
      {failed !== undefined && <Notice kind="bad">{failed}</Notice>}
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" disabled={!ready || busy} onClick={() => void go()}>
          {it.before === null ? 'Allow and install' : 'Allow and update'}
        </Button>
      </div>
    </>
  );
}
