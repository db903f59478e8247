import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { JudgedPlugin } from '../../plugins/judged';
import { useLastRun } from '../../plugins/runs';
import { setEnabled, uninstall } from '../../plugins/store';
import { Avatar } from '../../ui/avatar';
import { Button } from '../../ui/button';
import { Code } from '../../ui/code';
import { Confirm } from '../../ui/dialog';
import { Badge, Notice } from '../../ui/feedback';
import { Switch } from '../../ui/form';
import { Ago, duration } from '../../ui/time';
import { toast, toastError } from '../../ui/toast';
import { PermissionList } from './permission-list';
import { TrustBadge } from './trust-badge';

/** One plugin in this browser: description, permissions, and removal. */
export function PluginCard({ judged: { plugin, manifest, verdict, permissions, why } }: { judged: JudgedPlugin }) {
  const [leaving, setLeaving] = useState(false);
  const name = manifest?.name ?? plugin.id;
  const allowed = verdict?.runs === true;
  const change = (work: () => void) => {
    try {
      work();
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <article className="card plugin-card" aria-label={name}>
      <div className="plugin-head">
        <Avatar name={name} />
        <div className="grow">
          <h2>{name}</h2>
          <p className="row">
            <TrustBadge
              status={verdict?.status ?? (manifest === null ? 'modified' : 'unknown-key')}
              owner={verdict?.owner ?? null}
              reason={why}
            />
            {manifest !== null && <Badge>{manifest.version}</Badge>}
            <code>{plugin.id}</code>
          </p>
        </div>
        <Switch
          label={name}
          on={plugin.enabled && allowed}
          disabled={!allowed}
          onChange={(on) => change(() => setEnabled(plugin.id, on))}
        />
      </div>
      {manifest !== null && manifest.description !== '' && <p className="plugin-about">{manifest.description.slice(0, 300)}</p>}
      {!allowed && <Notice kind="bad">It does not run: {why}.</Notice>}
      {allowed && <PermissionList permissions={permissions} none="No permissions." />}
      <details className="plugin-more">
        <summary>
          {manifest?.tools.length ?? 0} {manifest?.tools.length === 1 ? 'tool' : 'tools'}, code and last run
        </summary>
        {manifest?.tools.map((tool) => (
          <section key={tool.name}>
            <h3>
              <code>{tool.name}</code>
            </h3>
            <p className="muted">{tool.description.slice(0, 400)}</p>
            <Code label={`Code of ${tool.name}`} value={tool.executorCode.slice(0, 20_000)} />
          </section>
        ))}
        <LastRun plugin={plugin.id} />
        <p className="muted">
          Installed <Ago at={plugin.installedAt} />, content <code>{plugin.hash.slice(0, 16)}</code>
        </p>
      </details>
      <div className="plugin-foot">
        <Button small icon={<Trash2 size={16} aria-hidden />} onClick={() => setLeaving(true)}>
          Uninstall
        </Button>
      </div>
      {leaving && (
        <Confirm
          title={`Uninstall ${name}?`}
          action="Uninstall"
          danger
          onClose={() => setLeaving(false)}
          onConfirm={() => {
            change(() => uninstall(plugin.id));
            toast(`${name} was uninstalled.`);
          }}
        >
          <p>Its tools and the data that it stored in this browser are deleted.</p>
        </Confirm>
      )}
    </article>
  );
}

function LastRun({ plugin }: { plugin: string }) {
  const run = useLastRun(plugin);
  if (run === undefined) return null;
  const lines = run.logs.map(({ level, text }) => `${level}: ${text}`).join('\n');
  return (
    <section>
      <h3>Last run</h3>
      <p>
        <code>{run.tool}</code>, <Ago at={run.at} />, {duration(run.ms * 1_000)}: {run.error === null ? 'succeeded' : run.error}
      </p>
      {lines !== '' && <Code label="Log of the last run" value={lines} />}
    </section>
  );
}
