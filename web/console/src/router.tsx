/** Every page of the console and its path. Pages are loaded on demand. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { FILTER_NAMES } from './pages/activity/filters';
import { AUTHORIZE_PATH, DEVICE_PATH, UPSTREAM_SIGN_IN_PATH } from './shell/focused-frame';
import { NotFound } from './shell/not-found';
import { PageError } from './shell/page-error';
import { SIGN_IN_ROUTE } from './shell/pages';
import { Shell } from './shell/shell';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: PageError });

/** Parameters that a page has in its URL. Others are dropped. */
const params =
  <Name extends string>(...names: readonly Name[]) =>
  (search: Record<string, unknown>): Partial<Record<Name, string>> =>
    Object.fromEntries(
      names.flatMap((name) => (typeof search[name] === 'string' && search[name] !== '' ? [[name, search[name]]] : [])),
    ) as Partial<Record<Name, string>>;

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/chat' });
  },
});

const apps = createRoute({
  getParentRoute: () => root,
  path: '/apps',
  validateSearch: params('q'),
  component: lazyRouteComponent(() => import('./pages/apps/list'), 'AppsPage'),
});
const app = createRoute({
  getParentRoute: () => root,
  path: '/apps/$package',
  validateSearch: params('tab', 'tool', 'from', 'to'),
  component: lazyRouteComponent(() => import('./pages/apps/app'), 'AppPage'),
});
const library = createRoute({
  getParentRoute: () => root,
  path: '/library',
  validateSearch: params('q'),
  component: lazyRouteComponent(() => import('./pages/library/page'), 'LibraryPage'),
});
const tools = createRoute({
  getParentRoute: () => root,
  path: '/tools',
  validateSearch: params('q', 'show'),
  component: lazyRouteComponent(() => import('./pages/tools/page'), 'ToolsPage'),
});
const approvals = createRoute({
  getParentRoute: () => root,
  path: '/approvals',
  validateSearch: params('tab'),
  component: lazyRouteComponent(() => import('./pages/approvals/page'), 'ApprovalsPage'),
});
const approval = createRoute({
  getParentRoute: () => root,
  path: '/approvals/$id',
  component: lazyRouteComponent(() => import('./pages/approvals/one'), 'ApprovalPage'),
});
const chat = createRoute({
  getParentRoute: () => root,
  path: '/chat',
  validateSearch: params('id'),
  component: lazyRouteComponent(() => import('./pages/chat/page'), 'ChatPage'),
});
const connect = createRoute({
  getParentRoute: () => root,
  path: '/connect',
  validateSearch: params('q'),
  component: lazyRouteComponent(() => import('./pages/connect/page'), 'ConnectPage'),
});
const plugins = createRoute({
  getParentRoute: () => root,
  path: '/plugins',
  validateSearch: params('tab', 'q'),
  component: lazyRouteComponent(() => import('./pages/plugins/page'), 'PluginsPage'),
});
const glasses = createRoute({
  getParentRoute: () => root,
  path: '/glasses',
  component: lazyRouteComponent(() => import('./pages/glasses/page'), 'GlassesPage'),
});
const activity = createRoute({
  getParentRoute: () => root,
  path: '/activity',
  validateSearch: params('tab', ...FILTER_NAMES, 'by'),
  component: lazyRouteComponent(() => import('./pages/activity/page'), 'ActivityPage'),
});
const call = createRoute({
  getParentRoute: () => root,
  path: '/activity/$id',
  validateSearch: (search: Record<string, unknown>): { of?: 'apps' } => (search.of === 'apps' ? { of: 'apps' } : {}),
  component: lazyRouteComponent(() => import('./pages/activity/call'), 'CallPage'),
});
const authorize = createRoute({
  getParentRoute: () => root,
  path: AUTHORIZE_PATH,
  validateSearch: params('request'),
  component: lazyRouteComponent(() => import('./pages/authorize/page'), 'AuthorizePage'),
});
const device = createRoute({
  getParentRoute: () => root,
  path: DEVICE_PATH,
  validateSearch: params('code'),
  component: lazyRouteComponent(() => import('./pages/device/page'), 'DevicePage'),
});
const upstreamSignIn = createRoute({
  getParentRoute: () => root,
  path: UPSTREAM_SIGN_IN_PATH,
  component: lazyRouteComponent(() => import('./pages/upstream-sign-in/page'), 'UpstreamSignInPage'),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  validateSearch: params('tab', 'q', 'ended'),
  component: lazyRouteComponent(() => import('./pages/settings/page'), 'SettingsPage'),
});

const people = createRoute({
  getParentRoute: () => root,
  path: '/people',
  validateSearch: params('q'),
  component: lazyRouteComponent(() => import('./pages/people/list'), 'PeoplePage'),
});
const person = createRoute({
  getParentRoute: () => root,
  path: '/people/$id',
  component: lazyRouteComponent(() => import('./pages/people/person'), 'PersonPage'),
});
/** The shell shows the sign-in page itself, also in place of other pages. */
const signIn = createRoute({
  getParentRoute: () => root,
  path: SIGN_IN_ROUTE,
  validateSearch: params('return', 'problem', 'done'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    apps,
    app,
    library,
    tools,
    approvals,
    approval,
    chat,
    connect,
    plugins,
    glasses,
    activity,
    call,
    authorize,
    device,
    upstreamSignIn,
    people,
    person,
    signIn,
    settings,
  ]),
  basepath: '/console',
  defaultPreload: 'intent',
  // Plain text, because people read and edit URLs.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const entries = Object.entries(search).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    const text = new URLSearchParams(entries).toString();
    return text === '' ? '' : `?${text}`;
  },
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
