/** One app: details, tools, trying them, versions. */
import { useIsMutating, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { ErrorBox, Loading } from '../../ui/feedback';
import { Page } from '../../ui/page';
import { Tabs } from '../../ui/tabs';
import { upstreamsQuery } from '../activity/upstreams';
import { appQuery, deletionKey, type App } from './api';
import { Details } from './details';
import { ToolsTab } from './tools/tab';
import { TryTab } from './try/tab';
import { VersionsTab } from './versions/tab';
import './style.css';

const TABS = [
  { id: 'details', name: 'Details' },
  { id: 'tools', name: 'AI Tools' },
  { id: 'try', name: 'Try it' },
  { id: 'versions', name: 'Versions' },
] as const;

export function AppPage() {
  const { package: name } = useParams({ from: '/apps/$package' });
  const { tab } = useSearch({ from: '/apps/$package' });
  const navigate = useNavigate();
  const isDeleted = useIsMutating({ mutationKey: deletionKey(name) }) > 0;
  const app = useQuery({ ...appQuery(name), enabled: !isDeleted });
  const current = TABS.find(({ id }) => id === tab)?.id ?? 'details';
  const title = app.data?.name || name;
  return (
    <div className="apps-pages">
      <Page
        title={title}
        lead={
          <>
            <Link to="/apps">Apps</Link> / <code>{name}</code>
          </>
        }
        {...(app.data !== undefined && isUpstream(name) && { actions: <UpstreamSignInLink packageName={name} title={title} /> })}
      >
        {app.isPending && <Loading what="the app" />}
        {app.error !== null && <ErrorBox error={app.error} onRetry={() => void app.refetch()} />}
        {app.data !== undefined && (
          <Tabs
            label={`Parts of ${title}`}
            tabs={TABS}
            current={current}
            onChange={(id) => void navigate({ to: '/apps/$package', params: { package: name }, search: { tab: id } })}
          >
            <Panel key={name} tab={current} app={app.data} />
          </Tabs>
        )}
      </Page>
    </div>
  );
}

/** Packages of upstreams start with this. */
const isUpstream = (packageName: string) => packageName.startsWith('mcp.');

/** Only for upstreams where each user signs in. */
function UpstreamSignInLink({ packageName, title }: { packageName: string; title: string }) {
  const { data } = useQuery(upstreamsQuery);
  const upstream = data?.upstreams.find((one) => one.packageName === packageName);
  if (upstream?.details.auth !== 'oauth') return null;
  return (
    <Link to="/upstreams/$id/sign-in" params={{ id: upstream.id }} className="button anywhere">
      Sign in to {title}
    </Link>
  );
}

function Panel({ tab, app }: { tab: (typeof TABS)[number]['id']; app: App }) {
  switch (tab) {
    case 'tools':
      return <ToolsTab app={app} />;
    case 'try':
      return <TryTab app={app} />;
    case 'versions':
      return <VersionsTab app={app} />;
    default:
      return <Details app={app} />;
  }
}
