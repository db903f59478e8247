import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { readPermissions } from '../../plugins/trust/permissions';
import type { Json } from '../../plugins/trust/strict';
import { Avatar } from '../../ui/avatar';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/dialog';
import { Badge, Empty, ErrorBox, Loading, Notice } from '../../ui/feedback';
import { Switch } from '../../ui/form';
import { toast, toastError } from '../../ui/toast';
import { useFlip } from '../../ui/use-flip';
import { PermissionList } from './permission-list';
import { getServerPlugins, removeServerPlugin, SERVER_PLUGINS, switchServerPlugin } from './server-api';
import { TrustBadge } from './trust-badge';

type ServerPlugin = Awaited<ReturnType<typeof getServerPlugins>>['plugins'][number];

/** The plugins that the server runs for this user. */
export function OnServer() {
  const plugins = useQuery({ queryKey: SERVER_PLUGINS, queryFn: getServerPlugins });
  if (plugins.isPending) return <Loading what="plugins of the server" />;
  if (plugins.error !== null) return <ErrorBox error={plugins.error} onRetry={() => void plugins.refetch()} />;
  if (plugins.data.plugins.length === 0) {
    return (
      <Empty title="No plugins on the server">
        <p>Plugins on the server work in every chat, over MCP and for your assistant.</p>
      </Empty>
    );
  }
  return (
    <ul className="plain-list stack plugin-list">
      {plugins.data.plugins.map((plugin) => (
        <li key={plugin.id}>
          <ServerCard plugin={plugin} />
        </li>
      ))}
    </ul>
  );
}

function ServerCard({ plugin }: { plugin: ServerPlugin }) {
  const client = useQueryClient();
  const [leaving, setLeaving] = useState(false);
  const again = () => client.invalidateQueries({ queryKey: SERVER_PLUGINS });
  const { on, flip } = useFlip({ id: plugin.id, on: plugin.enabled, send: (next) => switchServerPlugin(plugin.id, next), onDone: again });
  const remove = useMutation({
    mutationFn: () => removeServerPlugin(plugin.id),
    onError: toastError,
    onSuccess: () => toast(`${plugin.name} was uninstalled from the server.`),
    onSettled: again,
  });
  return (
    <article className="card plugin-card" aria-label={plugin.name}>
      <div className="plugin-head">
        <Avatar name={plugin.name} />
        <div className="grow">
          <h2>{plugin.name}</h2>
          <p className="row">
            <TrustBadge status={plugin.status} reason={plugin.reason} />
            <Badge>{plugin.version}</Badge>
            <code>{plugin.id}</code>
          </p>
        </div>
        <Switch label={plugin.name} on={on} onChange={flip} />
      </div>
      {plugin.description !== '' && <p className="plugin-about">{plugin.description.slice(0, 300)}</p>}
      {plugin.enabled && !plugin.runs && <Notice kind="bad">It does not run: {plugin.hidden ?? plugin.reason}.</Notice>}
      <PermissionList permissions={readPermissions(plugin.permissions as Json, [])} none="No permissions." />
      <p className="muted">Tools: {plugin.tools.join(', ')}</p>
      <div className="plugin-foot">
        <Button small icon={<Trash2 size={16} aria-hidden />} onClick={() => setLeaving(true)}>
          Uninstall
        </Button>
      </div>
      {leaving && (
        <Confirm
          title={`Uninstall ${plugin.name} from the server?`}
          action="Uninstall"
          danger
          busy={remove.isPending}
          onClose={() => setLeaving(false)}
          onConfirm={() => remove.mutate()}
        >
          <p>Its tools and the data that it stored for you on the server are deleted.</p>
        </Confirm>
      )}
    </article>
  );
}
