/** The apps of a developer; operators see all apps. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { useMe } from '../../api/queries';
import { AppIcon } from '../../ui/app-icon';
import { Button } from '../../ui/button';
import { Badge, Empty, ErrorBox, Loading } from '../../ui/feedback';
import { FIRST, Lazy } from '../../ui/lazy';
import { Page } from '../../ui/page';
import { matches } from '../../ui/matches';
import { Search } from '../../ui/search';
import { Ago } from '../../ui/time';
import { useUrlText } from '../../ui/url-state';
import { countLabel } from '../../ui/labels';
import { appsQuery, type App, type AppCreated } from './api';
import { CreateApp } from './create';
import { SecretsDialog } from './secrets';
import './style.css';

/** Height of one app in pixels. */
const ROW_HEIGHT = 120;

export function AppsPage() {
  const me = useMe();
  const apps = useQuery(appsQuery);
  const navigate = useNavigate();
  const [search, setSearch] = useUrlText('q');
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<AppCreated>();
  const found = (apps.data?.apps ?? []).filter((app) => matches(search, app.name, app.packageName, app.description, app.owner));
  return (
    <div className="apps-pages">
      <Page
        title="Apps"
        lead={me.operates ? 'Every app on this server.' : 'Your apps and their tools.'}
        actions={
          <Button kind="primary" icon={<Plus size={17} aria-hidden />} onClick={() => setCreating(true)}>
            New app
          </Button>
        }
      >
        {apps.isPending && <Loading what="apps" />}
        {apps.error !== null && <ErrorBox error={apps.error} onRetry={() => void apps.refetch()} />}
        {apps.data !== undefined && apps.data.apps.length === 0 && (
          <Empty title="No apps yet">
            <p>An app provides tools that assistants can call. Register one to get started.</p>
          </Empty>
        )}
        {((apps.data?.apps.length ?? 0) > 5 || search !== '') && (
          <div className="row above-list">
            <Search label="Search apps" value={search} onChange={setSearch} />
          </div>
        )}
        {apps.data !== undefined && apps.data.apps.length > 0 && found.length === 0 && <p className="muted">No apps match your search.</p>}
        <ul className="plain-list app-list">
          {found.map((app, place) => (
            <Lazy
              key={app.packageName}
              className="card app-row"
              name={app.name || app.packageName}
              height={ROW_HEIGHT}
              first={place < FIRST}
            >
              {() => <AppRow app={app} showOwner={me.operates} />}
            </Lazy>
          ))}
        </ul>
        {creating && (
          <CreateApp
            onClose={() => setCreating(false)}
            onCreated={(next) => {
              setCreating(false);
              setCreated(next);
            }}
          />
        )}
        {created !== undefined && (
          <SecretsDialog
            shown={{ title: `Key and secret of ${created.app.name}`, apiKey: created.apiKey, signingSecret: created.signingSecret }}
            onClose={() => {
              setCreated(undefined);
              void navigate({ to: '/apps/$package', params: { package: created.app.packageName }, search: { tab: 'tools' } });
            }}
          />
        )}
      </Page>
    </div>
  );
}

function AppRow({ app, showOwner }: { app: App; showOwner: boolean }) {
  return (
    <>
      <AppIcon name={app.name || app.packageName} packageName={app.packageName} icon={app.iconUrl} />
      <div className="grow">
        <h2>
          <Link to="/apps/$package" params={{ package: app.packageName }}>
            {app.name || app.packageName}
          </Link>
        </h2>
        <p className="app-row-package">
          <code>{app.packageName}</code>
        </p>
        {app.description !== '' && <p className="app-row-words">{app.description}</p>}
        <p className="row app-row-facts muted">
          <Badge>{app.kind === 'session' ? 'Session app' : 'Tools only'}</Badge>
          <span>{countLabel(app.toolCount, 'tool')}</span>
          {(app.publicUrl ?? '') === '' && <Badge kind="warn">No URL yet</Badge>}
          {showOwner && <span className="ellipsis">by {app.owner}</span>}
          <span>
            changed <Ago at={app.updatedAt} />
          </span>
        </p>
      </div>
    </>
  );
}
