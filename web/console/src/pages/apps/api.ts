/** What these pages ask of the server. */
import { queryOptions } from '@tanstack/react-query';
import { api, data } from '../../api/client';
import type { components } from '../../api/schema';
import { queryClient } from '../../api/queries';

export type App = components['schemas']['AppSummary'];
export type AppCreated = components['schemas']['AppCreated'];
export type NewApp = components['schemas']['NewApp'];
export type AppPatch = components['schemas']['AppPatchBody'];
export type ToolSetBody = components['schemas']['ToolSetVersionBody'];
export type Version = components['schemas']['VersionSummary'];

const path = (app: string) => ({ params: { path: { package: app } } });

export const appsQuery = queryOptions({ queryKey: ['apps'], queryFn: () => data(api.GET('/api/apps')) });

export const appQuery = (app: string) =>
  queryOptions({ queryKey: ['apps', app], queryFn: () => data(api.GET('/api/apps/{package}', path(app))) });

export const toolsQuery = (app: string) =>
  queryOptions({
    queryKey: ['apps', app, 'tools'],
    queryFn: () => data(api.GET('/api/apps/{package}/tools', path(app))),
  });

export const versionsQuery = (app: string) =>
  queryOptions({ queryKey: ['apps', app, 'versions'], queryFn: () => data(api.GET('/api/apps/{package}/versions', path(app))) });

/** A version never changes. */
export const versionQuery = (app: string, version: number) =>
  queryOptions({
    queryKey: ['apps', app, 'version', version],
    queryFn: () =>
      data(api.GET('/api/apps/{package}/versions/{version}', { params: { path: { package: app, version: String(version) } } })),
    staleTime: Infinity,
  });

/** While an app is being deleted nothing of it is read again: it would be gone before the page is left. */
export const deletionKey = (app: string) => ['delete', app];

export const createApp = (body: NewApp) => data(api.POST('/api/apps', { body }));
export const changeApp = (app: string, body: Partial<AppPatch>) =>
  data(api.PATCH('/api/apps/{package}', { ...path(app), body: body as AppPatch }));
export const deleteApp = (app: string) => data(api.DELETE('/api/apps/{package}', path(app)));
export const newKeyOf = (app: string) => data(api.POST('/api/apps/{package}/key', path(app)));
export const newSecretOf = (app: string) => data(api.POST('/api/apps/{package}/secret', path(app)));
export const saveTools = (app: string, body: components['schemas']['ToolSet']) =>
  data(api.POST('/api/apps/{package}/tools', { ...path(app), body }));
export const activate = (app: string, version: number) =>
  data(api.POST('/api/apps/{package}/versions/{version}/activate', { params: { path: { package: app, version: String(version) } } }));

/** Everything about apps, and what users see of their tools, is asked anew. */
export async function appsChanged(): Promise<void> {
  await Promise.all([['apps'], ['library'], ['tools']].map((queryKey) => queryClient.invalidateQueries({ queryKey })));
}
