import { useMutation } from '@tanstack/react-query';
import { Check, Download, ShieldCheck, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { api, responseData } from '../../api/client';
import type { LibraryApp } from '../../api/console';
import { queryClient } from '../../api/queries';
import { AppIcon } from '../../ui/app-icon';
import { Button } from '../../ui/button';
import { Confirm, Dialog } from '../../ui/dialog';
import { Badge, Notice } from '../../ui/feedback';
import { toast, toastError } from '../../ui/toast';
import { countLabel, HARDWARE, PERMISSIONS } from '../../ui/labels';
import { fitLabel } from './fit';

const changed = () =>
  Promise.all([['library'], ['tools'], ['installs'], ['session']].map((queryKey) => queryClient.invalidateQueries({ queryKey })));

export function AppCard({ app, model }: { app: LibraryApp; model: string | undefined }) {
  const fit = fitLabel(app.fit, model);
  return (
    <li className="card library-card">
      <div className="library-card-head">
        <AppIcon name={app.name} packageName={app.packageName} icon={app.iconUrl} />
        <div className="grow">
          <h2>{app.name}</h2>
          <p className="library-package">{app.packageName}</p>
        </div>
        {app.running && <Badge kind="accent">Running</Badge>}
      </div>
      <p className="library-words">{app.description === '' ? <span className="muted">No description.</span> : app.description}</p>
      <p>
        <Badge kind={fit.kind}>{fit.words}</Badge>
      </p>
      <Asks app={app} />
      <Tools app={app} />
      <div className="library-actions">
        <Actions app={app} />
      </div>
    </li>
  );
}

/** What the app requests: permissions, and the hardware that it uses. */
function Asks({ app }: { app: LibraryApp }) {
  const permissions = app.permissions.filter(isPermission);
  return (
    <>
      {permissions.length === 0 ? (
        <p className="muted">Requests no permissions.</p>
      ) : (
        <ul className="library-permissions">
          {permissions.map(({ type, description }) => (
            <li key={type}>
              <strong>{PERMISSIONS[type]?.name ?? type}</strong>: {PERMISSIONS[type]?.means ?? 'unknown permission'}
              {description ? <span className="muted"> “{description}”</span> : null}
            </li>
          ))}
        </ul>
      )}
      {app.wants.includes('assistant') && (
        <p>
          <strong>Requests a grant</strong>: call the tools of your other apps {app.assistant && <Badge kind="good">allowed</Badge>}
        </p>
      )}
      {app.hardwareRequirements.length > 0 && (
        <p className="muted">
          Uses:{' '}
          {app.hardwareRequirements
            .map(({ type, level }) => `${HARDWARE[type]?.name ?? type}${level === 'REQUIRED' ? '' : ' (optional)'}`)
            .join(', ')}
        </p>
      )}
    </>
  );
}

function isPermission(value: unknown): value is { type: string; description?: string | null } {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

function Tools({ app }: { app: LibraryApp }) {
  if (app.toolCount === 0) return <p className="muted">No tools yet.</p>;
  return (
    <details className="library-tools">
      <summary>{countLabel(app.toolCount, 'tool')}</summary>
      <ul className="plain-list">
        {app.tools.map((tool) => (
          <li key={tool.name}>
            <strong>{tool.title ?? tool.name}</strong>
            {tool.description !== '' && <span className="muted"> {tool.description}</span>}
          </li>
        ))}
      </ul>
      {app.toolCount > app.tools.length && <p className="muted">and {app.toolCount - app.tools.length} more</p>}
    </details>
  );
}

function Actions({ app }: { app: LibraryApp }) {
  const [asked, setAsked] = useState<'install' | 'allow' | 'remove'>();
  const path = { params: { path: { package: app.packageName } } };
  const wantsGrant = app.wants.includes('assistant');
  const install = useMutation({
    mutationFn: async (grant: boolean) => {
      if (!app.installed) await responseData(api.PUT('/api/installs/{package}', path));
      if (grant) await responseData(api.PUT('/api/installs/{package}/assistant', path));
    },
    onSuccess: (_, grant) => toast(`${app.name} was installed${grant ? ' and may call the tools of your other apps' : ''}.`),
    onError: toastError,
    onSettled: async () => {
      setAsked(undefined);
      await changed();
    },
  });
  const remove = useMutation({
    mutationFn: () => responseData(api.DELETE('/api/installs/{package}', path)),
    onSuccess: async () => {
      setAsked(undefined);
      await changed();
      toast(`${app.name} was removed.`);
    },
    onError: toastError,
  });
  const consent = (asked === 'install' || asked === 'allow') && (
    <Consent app={app} busy={install.isPending} onInstall={(grant) => install.mutate(grant)} onClose={() => setAsked(undefined)} />
  );
  if (!app.installed) {
    return (
      <>
        <Button
          kind="primary"
          icon={<Download size={16} aria-hidden />}
          disabled={install.isPending}
          aria-label={`Install ${app.name}`}
          onClick={() => (wantsGrant ? setAsked('install') : install.mutate(false))}
        >
          Install
        </Button>
        {consent}
      </>
    );
  }
  return (
    <>
      <Badge kind="good">
        <Check size={14} aria-hidden /> Installed
      </Badge>
      {wantsGrant && !app.assistant && (
        <Button
          icon={<ShieldCheck size={16} aria-hidden />}
          aria-label={`Allow the grant of ${app.name}`}
          onClick={() => setAsked('allow')}
        >
          Allow
        </Button>
      )}
      <Button icon={<Trash2 size={16} aria-hidden />} aria-label={`Remove ${app.name}`} onClick={() => setAsked('remove')}>
        Remove
      </Button>
      {consent}
      {asked === 'remove' && (
        <Confirm
          title={`Remove ${app.name}?`}
          action="Remove"
          danger
          busy={remove.isPending}
          onConfirm={() => remove.mutate()}
          onClose={() => setAsked(undefined)}
        >
          <p>
            Its tools are removed immediately, and the data that this server stores for you and the app, such as its settings, is deleted.
            You can install it again later.
          </p>
        </Confirm>
      )}
    </>
  );
}

/** Asks before an app gets the grant that it requests. Nothing is granted without explicit consent. */
function Consent({
  app,
  busy,
  onInstall,
  onClose,
}: {
  app: LibraryApp;
  busy: boolean;
  onInstall: (grant: boolean) => void;
  onClose: () => void;
}) {
  return (
    <Dialog title={app.installed ? `Allow the grant of ${app.name}?` : `Install ${app.name}?`} onClose={onClose}>
      <p>{app.name} requests this grant:</p>
      <Notice kind="warn">
        <p>
          <strong>Call the tools of your other apps.</strong> It can do everything that your tools can do, like an assistant. Allow this
          only if you trust the app.
        </p>
      </Notice>
      <p className="muted">
        {app.installed ? '' : 'Without it, the app can use only its own tools. '}You can change this at any time under Settings, Apps and
        grants.
      </p>
      <div className="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        {!app.installed && (
          <Button disabled={busy} onClick={() => onInstall(false)}>
            Install without it
          </Button>
        )}
        <Button kind="primary" disabled={busy} onClick={() => onInstall(true)}>
          {app.installed ? 'Allow' : 'Allow and install'}
        </Button>
      </div>
    </Dialog>
  );
}
