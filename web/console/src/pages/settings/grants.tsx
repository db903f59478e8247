/** What each installed app may do for the user, and its own settings. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, data } from '../../api/client';
import { getLibrary } from '../../api/console';
import { queryClient } from '../../api/queries';
import { AppIcon } from '../../ui/app-icon';
import { Button } from '../../ui/button';
import { Empty, ErrorBox, Loading } from '../../ui/feedback';
import { Switch } from '../../ui/form';
import { toast, toastError } from '../../ui/toast';
import { AppSettings } from './app-settings';

const MOST = 200;

export function Grants() {
  const installs = useQuery({ queryKey: ['installs'], queryFn: () => data(api.GET('/api/installs')) });
  // Only for names and pictures; without them the packages are shown.
  const library = useQuery({ queryKey: ['settings', 'names'], queryFn: () => getLibrary({ limit: 100 }) });
  const known = new Map(library.data?.apps.map((app) => [app.packageName, app]));
  const list = installs.data?.installs.slice(0, MOST) ?? [];
  return (
    <>
      <p className="muted">
        An app answers calls of its own tools. With the grant it may also call the tools of all your other apps for you, as an assistant does. Give it only to apps that you trust with everything your tools can do.
      </p>
      {installs.isPending && <Loading what="your apps" />}
      {installs.error && <ErrorBox error={installs.error} onRetry={() => void installs.refetch()} />}
      {installs.data && list.length === 0 && (
        <Empty title="No apps">
          <p>
            Install one in the <Link to="/library">Library</Link>.
          </p>
        </Empty>
      )}
      <ul className="plain-list" aria-label="Your apps">
        {list.map((install) => (
          <Grant key={install.packageName} app={install.packageName} name={known.get(install.packageName)?.name || install.packageName} icon={known.get(install.packageName)?.iconUrl} granted={install.assistant} />
        ))}
      </ul>
    </>
  );
}

function Grant({ app, name, icon, granted }: { app: string; name: string; icon: string | null | undefined; granted: boolean }) {
  const [open, setOpen] = useState(false);
  // Shown at once, until the server has said so.
  const [wanted, setWanted] = useState<boolean>();
  const change = useMutation({
    mutationFn: (on: boolean) => {
      const params = { params: { path: { package: app } } };
      return on ? api.PUT('/api/installs/{package}/assistant', params) : api.DELETE('/api/installs/{package}/assistant', params);
    },
    onSuccess: (_, on) => toast(on ? `${name} may now call the tools of your other apps.` : `${name} may only use its own tools now.`),
    onError: toastError,
    onSettled: async () => {
      await queryClient.invalidateQueries({ queryKey: ['installs'] });
      setWanted(undefined);
    },
  });
  const flip = (on: boolean) => {
    setWanted(on);
    change.mutate(on);
  };
  const hasSettings = !app.startsWith('mcp.');
  return (
    <li className="card">
      <div className="row">
        <AppIcon name={name} packageName={app} icon={icon} />
        <div className="grow">
          <h2>{name}</h2>
          <code>{app}</code>
        </div>
        <div className="row">
          <Switch label="May call tools of other apps" shown on={wanted ?? granted} disabled={wanted !== undefined} onChange={flip} />
          {hasSettings && (
            <Button small aria-expanded={open} onClick={() => setOpen(!open)} aria-label={`Settings of ${name}`}>
              Settings
            </Button>
          )}
        </div>
      </div>
      {open && <AppSettings app={app} name={name} />}
    </li>
  );
}
