/** Every page of the console and where it is. Pages are loaded when they are opened. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { NotFound } from './shell/not-found';
import { PageError } from './shell/page-error';
import { Shell } from './shell/shell';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: PageError });

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/chat' });
  },
});

const apps = createRoute({ getParentRoute: () => root, path: '/apps', component: lazyRouteComponent(() => import('./pages/apps/list'), 'AppsPage') });
const app = createRoute({
  getParentRoute: () => root,
  path: '/apps/$package',
  validateSearch: (search: Record<string, unknown>): { tab?: string } => {
    const tab = text(search.tab);
    return tab === undefined ? {} : { tab };
  },
  component: lazyRouteComponent(() => import('./pages/apps/app'), 'AppPage'),
});
const library = createRoute({ getParentRoute: () => root, path: '/library', component: lazyRouteComponent(() => import('./pages/library/page'), 'LibraryPage') });
const tools = createRoute({ getParentRoute: () => root, path: '/tools', component: lazyRouteComponent(() => import('./pages/tools/page'), 'ToolsPage') });
const chat = createRoute({
  getParentRoute: () => root,
  path: '/chat',
  validateSearch: (search: Record<string, unknown>): { id?: string } => {
    const id = text(search.id);
    return id === undefined ? {} : { id };
  },
  component: lazyRouteComponent(() => import('./pages/chat/page'), 'ChatPage'),
});
const plugins = createRoute({ getParentRoute: () => root, path: '/plugins', component: lazyRouteComponent(() => import('./pages/plugins/page'), 'PluginsPage') });
const glasses = createRoute({ getParentRoute: () => root, path: '/glasses', component: lazyRouteComponent(() => import('./pages/glasses/page'), 'GlassesPage') });
const activity = createRoute({ getParentRoute: () => root, path: '/activity', component: lazyRouteComponent(() => import('./pages/activity/page'), 'ActivityPage') });
const call = createRoute({
  getParentRoute: () => root,
  path: '/activity/$id',
  validateSearch: (search: Record<string, unknown>): { of?: 'apps' } => (search.of === 'apps' ? { of: 'apps' } : {}),
  component: lazyRouteComponent(() => import('./pages/activity/call'), 'CallPage'),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  validateSearch: (search: Record<string, unknown>): { tab?: string } => {
    const tab = text(search.tab);
    return tab === undefined ? {} : { tab };
  },
  component: lazyRouteComponent(() => import('./pages/settings/page'), 'SettingsPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([home, apps, app, library, tools, chat, plugins, glasses, activity, call, settings]),
  basepath: '/console',
  defaultPreload: 'intent',
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
