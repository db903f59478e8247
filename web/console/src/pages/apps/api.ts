/** Queries and changes of the app pages. */
import { queryOptions } from '@tanstack/react-query';
import { api, responseData } from '../../api/client';
import type { components } from '../../api/schema';
import { queryClient } from '../../api/queries';

export type App = components['schemas']['AppSummary'];
export type AppCreated = components['schemas']['AppCreated'];
export type NewApp = components['schemas']['NewApp'];
export type AppPatch = components['schemas']['AppPatchBody'];
export type ToolSetBody = components['schemas']['ToolSetVersionBody'];
export type Version = components['schemas']['VersionSummary'];

const path = (app: string) => ({ params: { path: { package: app } } });

export const appsQuery = queryOptions({ queryKey: ['apps'], queryFn: () => responseData(api.GET('/api/apps')) });

export const appQuery = (app: string) =>
  queryOptions({ queryKey: ['apps', app], queryFn: () => responseData(api.GET('/api/apps/{package}', path(app))) });

export const toolsQuery = (app: string) =>
  queryOptions({
    queryKey: ['apps', app, 'tools'],
    queryFn: () => responseData(api.GET('/api/apps/{package}/tools', path(app))),
  });

export const versionsQuery = (app: string) =>
  queryOptions({ queryKey: ['apps', app, 'versions'], queryFn: () => responseData(api.GET('/api/apps/{package}/versions', path(app))) });

/** A version never changes. */
export const versionQuery = (app: string, version: number) =>
  queryOptions({
    queryKey: ['apps', app, 'version', version],
    queryFn: () =>
      responseData(api.GET('/api/apps/{package}/versions/{version}', { params: { path: { package: app, version: String(version) } } })),
    staleTime: Infinity,
  });

/** While an app is being deleted, its queries are not refetched: they would fail before the page is left. */
export const deletionKey = (app: string) => ['delete', app];

export const createApp = (body: NewApp) => responseData(api.POST('/api/apps', { body }));
export const changeApp = (app: string, body: Partial<AppPatch>) =>
  responseData(api.PATCH('/api/apps/{package}', { ...path(app), body: body as AppPatch }));
export const deleteApp = (app: string) => responseData(api.DELETE('/api/apps/{package}', path(app)));
export const createKey = (app: string) => responseData(api.POST('/api/apps/{package}/key', path(app)));
export const createSecret = (app: string) => responseData(api.POST('/api/apps/{package}/secret', path(app)));
export const saveTools = (app: string, body: components['schemas']['ToolSet']) =>
  responseData(api.POST('/api/apps/{package}/tools', { ...path(app), body }));
export const activateVersion = (app: string, version: number) =>
  responseData(
    api.POST('/api/apps/{package}/versions/{version}/activate', { params: { path: { package: app, version: String(version) } } }),
  );

/** Invalidates everything about apps, and the tools that users see. */
export async function appsChanged(): Promise<void> {
  await Promise.all([['apps'], ['library'], ['tools']].map((queryKey) => queryClient.invalidateQueries({ queryKey })));
}
