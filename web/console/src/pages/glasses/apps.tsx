/** The user's apps on these glasses: start, stop, and status. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client';
import { queryClient } from '../../api/queries';
import { AppIcon } from '../../ui/app-icon';
import { Button } from '../../ui/button';
import { Badge, ErrorBox, Loading } from '../../ui/feedback';
import { Card } from '../../ui/page';
import { toastError } from '../../ui/toast';
import { installedQuery, sessionQuery, type InstalledApp, type RunningApp } from './queries';

const STATES: Record<RunningApp['state'], string> = {
  STOPPED: 'stopped',
  STARTING: 'starting',
  RUNNING: 'running',
  STOPPING: 'stopping',
  LOST: 'lost',
};

export function Apps({ on }: { on: boolean }) {
  const installed = useQuery(installedQuery);
  // Without glasses there may be no session.
  const live = useQuery({ ...sessionQuery, enabled: on });
  const apps = installed.data;
  return (
    <Card title="Apps">
      {installed.isPending && <Loading what="your apps" />}
      {installed.error && <ErrorBox error={installed.error} onRetry={() => void installed.refetch()} />}
      {apps?.length === 0 && (
        <p className="muted flat">
          You have no apps yet. Install some in the <Link to="/library">Library</Link>.
        </p>
      )}
      <ul className="plain-list app-list" aria-label="Your apps">
        {apps?.map((app) => (
          <AppRow
            key={app.packageName}
            app={app}
            running={on ? live.data?.apps.find((one) => one.packageName === app.packageName) : undefined}
            on={on}
          />
        ))}
      </ul>
    </Card>
  );
}

function AppRow({ app, running, on }: { app: InstalledApp; running: RunningApp | undefined; on: boolean }) {
  const runs = running !== undefined && running.state !== 'STOPPED' && running.state !== 'STOPPING';
  // A woken app runs but is not open; the user can still open it.
  const open = runs && !running.woken;
  const order = useMutation({
    mutationFn: (what: 'start' | 'stop') => {
      const params = { params: { path: { package: app.packageName } } };
      return what === 'start'
        ? api.POST('/api/session/apps/{package}/start', params)
        : api.POST('/api/session/apps/{package}/stop', params);
    },
    onError: toastError,
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['glasses'] }),
  });
  return (
    <li>
      <AppIcon name={app.name} packageName={app.packageName} icon={app.icon} small />
      <span className="grow">
        <strong>{app.name}</strong>
        <span className="app-state">
          {running !== undefined && <Badge kind={running.state === 'RUNNING' ? 'good' : 'warn'}>{STATES[running.state]}</Badge>}
          {running?.foreground && <Badge kind="accent">foreground</Badge>}
          {running?.woken && (
            <Badge title="A tool call started this app. It cannot use the microphone until you open it.">woken by a call</Badge>
          )}
          {!app.fits && <Badge kind="warn">needs other glasses</Badge>}
          {!app.opens && <Badge>tools only</Badge>}
        </span>
      </span>
      {app.opens && !open && (
        <Button
          small
          disabled={!on || order.isPending}
          onClick={() => order.mutate('start')}
          aria-label={`${runs ? 'Open' : 'Start'} ${app.name}`}
        >
          {runs ? 'Open' : 'Start'}
        </Button>
      )}
      {runs && (
        <Button small disabled={order.isPending} onClick={() => order.mutate('stop')} aria-label={`Stop ${app.name}`}>
          Stop
        </Button>
      )}
    </li>
  );
}
